// The attention kernels of an ISA.

inline constexpr AttentionKernels kAttentionKernels = {{attend<Bf16>, attend<F32>, attend_int8<>},
                                                       merge,
                                                       finish,
                                                       {store_key_bf16, store_key_f32, store_key_int8},
                                                       {store_value_bf16, store_value_f32, store_value_int8}};
