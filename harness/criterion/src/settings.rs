//! Settings of timed measurements. All are accepted; none means anything here.

/// Writes methods that take a setting and return the receiver: why the setting means nothing
/// here, and the methods of which this is true.
macro_rules! accept {
    ($this:ident: $This:ty; $($why:literal: $($name:ident($($argument:ty),*)),+;)+) => {$($(
        #[doc = concat!("Means nothing here: ", $why, ".")]
        pub fn $name($this: $This, $(_: $argument),*) -> $This {
            $this
        }
    )+)+};
}

/// Writes the settings that `Criterion`, a group and a benchmark of 0.3 share.
macro_rules! settings {
    ($this:ident: $This:ty) => {
        $crate::settings::accept! { $this: $This;
            "the front counts the iterations": sample_size(usize);
            "the ladder begins with the first iteration": warm_up_time(::std::time::Duration);
            "the front has a time budget of its own": measurement_time(::std::time::Duration);
            "nothing is resampled": nresamples(usize);
            "the front has thresholds of its own":
                noise_threshold(f64), confidence_level(f64), significance_level(f64);
        }
    };
}

/// Writes the settings that a group and a benchmark of 0.3 share.
macro_rules! group_settings {
    ($this:ident: $This:ty) => {
        $crate::settings::settings!($this: $This);
        $crate::settings::accept! { $this: $This;
            "nothing is plotted": plot_config($crate::PlotConfiguration);
            "the front chooses the steps of the ladder": sampling_mode($crate::SamplingMode);
        }
    };
}

pub(crate) use {accept, group_settings, settings};

/// How many inputs criterion makes before it times a batch. Here every iteration makes its own.
#[derive(Debug, Eq, PartialEq, Copy, Hash, Clone)]
#[non_exhaustive]
pub enum BatchSize {
    /// Many inputs fit into memory.
    SmallInput,
    /// Few inputs fit into memory.
    LargeInput,
    /// One input at a time.
    PerIteration,
    /// This many batches.
    NumBatches(u64),
    /// This many iterations in a batch.
    NumIterations(u64),
}

/// How much work an iteration does. It means nothing here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Throughput {
    /// Bytes, in multiples of 1024. Since 0.3.
    Bytes(u64),
    /// Elements. Since 0.3.
    Elements(u64),
    /// Bytes, in multiples of 1000. Since 0.4.
    #[cfg(since_0_4)]
    BytesDecimal(u64),
    /// Bits. Since 0.7.
    #[cfg(since_0_7)]
    Bits(u64),
    /// Elements, with their size. Since 0.8.
    #[cfg(since_0_8)]
    ElementsAndBytes {
        /// How many elements.
        elements: u64,
        /// How many bytes all of them have.
        bytes: u64,
    },
}

/// How criterion spreads iterations over samples. It means nothing here.
#[derive(Debug, Default, Clone, Copy)]
pub enum SamplingMode {
    /// Criterion chooses.
    #[default]
    Auto,
    /// Each sample has more iterations than the one before.
    Linear,
    /// Each sample has the same number of iterations.
    Flat,
}

/// The axis of a plot. Nothing is plotted here.
#[derive(Debug, Default, Clone, Copy)]
pub enum AxisScale {
    /// A linear axis.
    #[default]
    Linear,
    /// A logarithmic axis.
    Logarithmic,
}

/// How a plot looks. Nothing is plotted here.
#[derive(Debug, Default, Clone)]
pub struct PlotConfiguration {}

impl PlotConfiguration {
    accept! { self: Self;
        "nothing is plotted": summary_scale(AxisScale);
    }
}

/// What draws plots. Nothing is plotted here.
#[derive(Debug, Clone, Copy)]
pub enum PlottingBackend {
    /// The program gnuplot.
    Gnuplot,
    /// The crate `plotters`.
    Plotters,
    /// Nothing. Since 0.4.
    None,
}

/// What criterion does with an earlier measurement. It means nothing here.
#[derive(Debug, Clone, Copy)]
pub enum Baseline {
    /// Compare with it. In 0.3.
    Compare,
    /// Compare with it where it exists. Since 0.4.
    CompareLenient,
    /// Compare with it, and fail where it does not exist. Since 0.4.
    CompareStrict,
    /// Replace it.
    Save,
    /// Leave it alone. Since 0.4.
    Discard,
}

/// Which benchmarks criterion runs. It means nothing here: the front filters.
#[derive(Clone, Debug)]
pub enum BenchmarkFilter {
    /// All.
    AcceptAll,
    /// The one of this id.
    Exact(String),
    /// None.
    RejectAll,
}

impl BenchmarkFilter {
    /// Stands for the variant of this name, without a dependency on the crate `regex`.
    // Without `reason`, which Rust 1.80 does not accept; clippy wants it.
    #[cfg_attr(not(clippy), allow(non_snake_case))]
    #[cfg_attr(clippy, allow(non_snake_case, reason = "it stands for a variant"))]
    pub fn Regex<R>(_: R) -> BenchmarkFilter {
        BenchmarkFilter::AcceptAll
    }
}
