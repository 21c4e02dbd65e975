//! Translations (`fluent-bundle`) that are loaded again, and what is made for a language
//! (`intl-memoizer`).
//!
//! Kept by a bundle: every resource that was added to it, also one whose messages another one
//! has replaced (`add_resource_overriding`). Kept by an `IntlMemoizer`: each language that it was
//! asked for, with a weak pointer and the allocation behind it (`get_for_lang`).

use fluent_bundle::{FluentArgs, FluentBundle, FluentResource};
use intl_memoizer::IntlMemoizer;
use plimsoll::Scenario;
use unic_langid::{LanguageIdentifier, LanguageIdentifierError};

const TRANSLATIONS: &str = "\
hello = Hello, { $name }!
mails = { $mails ->
    [one] one mail
   *[other] { $mails } mails
  }
broken = { no-such-message }
";

pub type Bundle = FluentBundle<FluentResource>;

fn english() -> LanguageIdentifier {
    "en-US".parse().expect("a language")
}

fn translations() -> FluentResource {
    FluentResource::try_new(TRANSLATIONS.to_owned()).expect("they can be parsed")
}

pub fn setup() -> Bundle {
    let mut bundle = Bundle::new(vec![english()]);
    bundle
        .add_resource(translations())
        .expect("each message is there once");
    bundle
}

/// Three messages, of which the last has an error.
pub fn format(bundle: &mut Bundle, i: u64) {
    let mut args = FluentArgs::new();
    args.set("name", i.to_string());
    args.set("mails", i);
    let mut errors = Vec::new();
    for id in ["hello", "mails", "broken"] {
        let message = bundle.get_message(id).and_then(|message| message.value());
        let message = message.expect("it was added");
        bundle.format_pattern(message, Some(&args), &mut errors);
    }
    assert_eq!(errors.len(), 1);
}

pub fn reload(bundle: &mut Bundle, i: u64) {
    bundle.add_resource_overriding(translations());
    format(bundle, i);
}

pub fn reload_renewed(bundle: &mut Bundle, i: u64) {
    *bundle = setup();
    format(bundle, i);
}

/// A request whose client asks for a language of its own, such as `en-v0000042`.
pub fn language(memoizer: &mut IntlMemoizer, i: u64) -> Result<(), LanguageIdentifierError> {
    let language = format!("en-v{i:07}").parse()?;
    drop(memoizer.get_for_lang(language));
    Ok(())
}

/// The same, and the server chooses the language that it has.
pub fn language_negotiated(
    memoizer: &mut IntlMemoizer,
    i: u64,
) -> Result<(), LanguageIdentifierError> {
    let wanted: LanguageIdentifier = format!("en-v{i:07}").parse()?;
    let language = LanguageIdentifier::from_parts(wanted.language, None, None, &[]);
    drop(memoizer.get_for_lang(language));
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        // One bundle, to which the translations are added again and again.
        Scenario::with_state("fluent_bundle_reload", setup, reload),
        // A new bundle for the new translations.
        Scenario::with_state("fluent_bundle_reload_renewed", setup, reload_renewed),
        // Messages, with arguments and errors.
        Scenario::with_state("fluent_bundle_format", setup, format),
        // The languages that clients ask for.
        Scenario::with_state("fluent_bundle_languages", IntlMemoizer::default, language),
        // The languages that the server has.
        Scenario::with_state(
            "fluent_bundle_languages_negotiated",
            IntlMemoizer::default,
            language_negotiated,
        ),
    ]
}
