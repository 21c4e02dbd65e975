//! Tables: their layout, and the table of functions, in the form of `pprof -top`.

use plimsoll_core::report::units::plural;
use plimsoll_core::text::escape;
use plimsoll_profile::{Names, Table};

/// Returns a row for each function, at most `top` of them; 0 means all. If `columns` is known,
/// names are cut to fit.
pub(crate) fn table(
    table: &Table,
    top: usize,
    columns: Option<usize>,
    names: &Names,
    say: impl Fn(f64) -> String,
) -> Vec<String> {
    let rows = table.rows.iter();
    let rows: Vec<_> = rows
        .filter(|row| row.flat != 0.0 || row.cum != 0.0)
        .collect();
    let most = most(top, rows.len());
    let mut running = 0.0;
    let head = ["flat", "flat%", "sum%", "cum", "cum%"];
    let mut cells = vec![(head.map(str::to_owned), "function".to_owned())];
    for row in &rows[..most] {
        running += row.flat;
        let numbers = [
            say(row.flat),
            percent(row.flat, table.total),
            percent(running, table.total),
            say(row.cum),
            percent(row.cum, table.total),
        ];
        cells.push((numbers, escape::terminal(names.get(row.name))));
    }
    let mut lines = laid_out(&cells, columns);
    lines.extend(more(rows.len() - most, "row", "rows"));
    lines
}

/// Returns how many rows are shown of `rows`, if at most `top` may be; 0 means all.
pub(crate) fn most(top: usize, rows: usize) -> usize {
    match top {
        0 => rows,
        top => top.min(rows),
    }
}

/// Returns the line that counts the rows that are not shown.
pub(crate) fn more(left: usize, one: &str, many: &str) -> Option<String> {
    let rows = plural(left as u64, one, many);
    (left > 0).then(|| format!("… {rows} more: --top 0 shows all"))
}

/// Returns a line for each row: its cells, aligned to the right, and its name. Columns whose cells
/// are all empty are left out. If `columns` is known, names are cut to fit.
pub(crate) fn laid_out<const N: usize>(
    rows: &[([String; N], String)],
    columns: Option<usize>,
) -> Vec<String> {
    let mut widths = [0; N];
    for (cells, _) in rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let shown = widths.iter().filter(|width| **width > 0);
    let before_name = shown.map(|width| width + 2).sum::<usize>();
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(before_name));
    let line = |(cells, name): &([String; N], String)| {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths).filter(|(_, width)| *width > 0) {
            line.push_str(&format!("{cell:>width$}  "));
        }
        // A part of the name is shown even if the terminal is narrow.
        line + &escape::cut_middle(name, room.max(20))
    };
    rows.iter().map(line).collect()
}

fn percent(value: f64, total: f64) -> String {
    if total == 0.0 {
        return "-".to_owned();
    }
    let percent = 100.0 * value / total;
    // Avoids a minus sign before zero.
    if percent.abs() < 0.05 {
        return "0.0%".to_owned();
    }
    // If gains and losses nearly cancel each other, shares of the total have no meaning.
    match percent.abs() < 9_999.5 {
        true => format!("{percent:.1}%"),
        false => "-".to_owned(),
    }
}
