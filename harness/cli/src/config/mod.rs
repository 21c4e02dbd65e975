//! `plimsoll config`: shows the settings, and where each is set.

mod schema;
mod show;

use std::path::Path;

use clap::{Args, Subcommand};
use plimsoll_core::layout;
use plimsoll_core::report::Report;
use plimsoll_core::settings::{Key, Layer};

use crate::args::ProjectArgs;
use plimsoll_desk::out::{Out, safe_line};
use plimsoll_desk::project::{self, Project};
use plimsoll_desk::settings;
use plimsoll_desk::status::Refused;
use plimsoll_report::joined::Scenario;
use plimsoll_report::reports::Reports;

const SHOW_HELP: &str = "\
For example:
  plimsoll config show --effective
  plimsoll config show --package parser --json

Exit status:
  0  done
  2  invalid arguments, or a variable that cannot be read
  5  plimsoll's own failure: a settings file that cannot be read";

const SCHEMA_HELP: &str = "\
For example:
  plimsoll config schema > plimsoll-toml-v1.schema.json

Exit status:
  0  done";

const STATUSES: &str = "\
Exit status:
  0  done
  2  invalid arguments
  5  plimsoll's own failure";

/// Show the settings, and where each is set
#[derive(Debug, Args)]
#[command(after_help = STATUSES, disable_help_subcommand = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    Show(ConfigShowArgs),
    /// Print the JSON schema of plimsoll.toml, for editors
    #[command(after_help = SCHEMA_HELP)]
    Schema,
}

/// Show the settings of a package's leak tests, and where each is set
///
/// Prints the environment variables, the plimsoll.toml of the package and that of the
/// workspace, in order of precedence. Settings made in code, by the builder of a scenario, are
/// shown as of the last run.
#[derive(Debug, Args)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct ConfigShowArgs {
    /// Show all settings, with the defaults of those that are not set
    #[arg(long)]
    effective: bool,

    /// Package instead of the one in the current folder
    #[arg(long, short, value_name = "NAME")]
    package: Option<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    project: ProjectArgs,
}

pub(crate) fn run(args: &ConfigArgs, out: &mut Out) -> anyhow::Result<()> {
    match &args.command {
        ConfigCommand::Schema => Ok(out.print(&schema::schema())?),
        ConfigCommand::Show(args) => {
            let found = Found::by(args, out)?;
            let text = match args.json {
                true => show::json(&found, args.effective),
                false => show::text(&found, args.effective),
            };
            Ok(out.print(&text)?)
        }
    }
}

/// The settings that were found, in order of precedence.
struct Found {
    /// `None` in the root of a workspace that is not a package.
    package: Option<String>,
    variables: Layer,
    files: Vec<SettingsFile>,
    /// The reports of scenarios whose builders set something, of the newest run of each test
    /// target; `None` if there was no run.
    builders: Option<Vec<Report>>,
}

struct SettingsFile {
    /// The path from the workspace's root, or the whole path of a file outside the workspace.
    shown: String,
    /// Its owner: `package` or `workspace`.
    of: &'static str,
    layer: Layer,
}

/// The place where a setting is set.
enum Origin<'a> {
    Variable(String),
    File(&'a SettingsFile, usize),
}

impl Found {
    fn by(args: &ConfigShowArgs, out: &Out) -> anyhow::Result<Found> {
        let project = Project::find(args.project.manifest_path.as_deref())?;
        let root = project.workspace_root();
        let package = chosen(args, &project)?;
        let dir = match &package {
            Some(package) => project.package_dir(package).unwrap_or(root),
            None => root,
        };
        let files = layout::settings_files(dir, root, |path| path.exists());
        let files = files.into_iter().map(|path| {
            let of = match path.parent() == Some(root) {
                true => "workspace",
                false => "package",
            };
            let shown = path.strip_prefix(root).unwrap_or(&path);
            Ok(SettingsFile {
                shown: safe_line(&shown.to_string_lossy()),
                of,
                layer: settings::read(&path, root)?,
            })
        });
        Ok(Found {
            variables: settings::variables()?,
            files: files.collect::<anyhow::Result<_>>()?,
            builders: package
                .as_ref()
                .and_then(|package| builders(package, &project, out)),
            package,
        })
    }

    /// Returns each place that sets the key, with the text that is written there. The first
    /// one takes precedence.
    fn set(&self, key: &Key) -> Vec<(Origin<'_>, &str)> {
        let variable = self.variables.get(key);
        let variable = variable.map(|entry| (Origin::Variable(key.variable()), &*entry.text));
        let files = self.files.iter().filter_map(|file| {
            let entry = file.layer.get(key)?;
            Some((Origin::File(file, entry.line?), &*entry.text))
        });
        variable.into_iter().chain(files).collect()
    }
}

/// Returns what builders set, according to the reports of the package's tests. A problem of
/// the reports becomes a warning, so the other settings are shown nevertheless.
fn builders(package: &str, project: &Project, out: &Out) -> Option<Vec<Report>> {
    let scenarios = Reports::newest_in(&project.reports_dir());
    let scenarios = scenarios.inspect_err(|err| out.warning(&format!("{err:#}")));
    let scenarios = scenarios.ok()?;
    let of_package = scenarios.iter().filter(|one| one.package == package);
    let reports: Vec<&Report> = of_package.filter_map(Scenario::report).collect();
    let setting = reports.iter().filter(|report| !report.builder.is_empty());
    (!reports.is_empty()).then(|| setting.map(|report| Report::clone(report)).collect())
}

/// Returns whether the allowances in a folder of baselines need a reason. It reads the same
/// settings as the tests that use the folder.
pub(crate) fn require_reason(baselines_dir: &Path, project: &Project) -> anyhow::Result<bool> {
    let dir = baselines_dir.parent().unwrap_or(baselines_dir);
    let all = settings::of(dir, project.workspace_root())?;
    Ok(all.require_reason.unwrap_or(false))
}

/// Returns the package that is named, or else the package of the manifest or of the current
/// folder.
fn chosen(args: &ConfigShowArgs, project: &Project) -> anyhow::Result<Option<String>> {
    let Some(name) = &args.package else {
        let here = project::folder(args.project.manifest_path.as_deref())?;
        return Ok(project.package_at(&here).map(str::to_owned));
    };
    if project.package_dir(name).is_none() {
        let known: Vec<&str> = project.packages().collect();
        return Err(Refused::usage(format!(
            "`{}` is no package of this workspace\n  hint: one of {}",
            safe_line(name),
            safe_line(&known.join(", "))
        )));
    }
    Ok(Some(name.clone()))
}
