//! The table of functions, in the form of `pprof -top`.

use plimsoll_core::report::units::plural;
use plimsoll_profile::{Names, Table};
use plimsoll_text::escape;

/// Returns a row for each function, at most `top` of them; 0 means all. If `columns` is known,
/// names are cut to fit.
pub(crate) fn table(
    table: &Table,
    top: usize,
    columns: Option<usize>,
    names: &Names,
    say: impl Fn(f64) -> String,
) -> Vec<String> {
    let rows: Vec<_> = table
        .rows
        .iter()
        .filter(|row| row.flat != 0.0 || row.cum != 0.0)
        .collect();
    let most = match top {
        0 => rows.len(),
        top => top.min(rows.len()),
    };
    let mut running = 0.0;
    let mut cells = vec![["flat", "flat%", "sum%", "cum", "cum%"].map(str::to_owned)];
    for row in &rows[..most] {
        running += row.flat;
        cells.push([
            say(row.flat),
            percent(row.flat, table.total),
            percent(running, table.total),
            say(row.cum),
            percent(row.cum, table.total),
        ]);
    }
    let mut widths = [0; 5];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let mut lines = Vec::with_capacity(cells.len() + 1);
    for (number, row) in cells.iter().enumerate() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(&format!("{cell:>width$}  "));
        }
        let name = match number.checked_sub(1) {
            None => "function".to_owned(),
            Some(row) => escape::terminal(names.get(rows[row].name)),
        };
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(line.len()));
        // A part of the name is shown even if the terminal is narrow.
        line.push_str(&escape::cut_middle(&name, room.max(20)));
        lines.push(line);
    }
    if most < rows.len() {
        let left = (rows.len() - most) as u64;
        let rows = plural(left, "row", "rows");
        lines.push(format!("… {rows} more: --top 0 shows all"));
    }
    lines
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
