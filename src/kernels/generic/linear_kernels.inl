// The LinearKernels of one ISA.

inline constexpr LinearKernels kLinearKernels = {{
    linear<SourceQ4_0>,
    linear<SourceQ4_1>,
    linear<SourceQ5_0>,
    linear<SourceQ5_1>,
    linear<SourceQ8_0>,
    linear<SourceQ2_K>,
    linear<SourceQ3_K>,
    linear<SourceQ4_K>,
    linear<SourceQ5_K>,
    linear<SourceQ6_K>,
    linear<SourceIQ4_NL>,
    linear<SourceIQ4_XS>,
    linear_floats<SourceF32>,
    linear_floats<SourceF16>,
    linear_floats<SourceBF16>,
}};
