/* SPDX-License-Identifier: MIT */
/* Made by tests/golden/make_param_groups.py with PyTorch 1.13.0a0. */
static const double golden_sgd_exponential[] = {
    -0x1.6d91def711788p-1, 0x1.0dfbab419ab00p-4,  0x1.d041fd48e2083p-1,  -0x1.1ff3ec54eb66fp-1,
    0x1.c4260e49fb7f2p-2,  -0x1.ec3c318554bf1p-3, 0x1.520a7d4f41b0bp-3,  0x1.0199cff4d54f1p-2,
    -0x1.fefd3781d39b6p-2, 0x1.044692c63ee53p-1,  -0x1.0b06745a1c925p-2, 0x1.7c0502ea29513p-1,
    0x1.8aae729f74695p-7,  -0x1.8117ba3f0cebfp-1, 0x1.1da32b368f315p-5,  0x1.1da32b368f315p-6};
static const double golden_adam_cosine[] = {
    -0x1.733393eba8e72p-1, -0x1.115f58c06be42p-6, 0x1.90dd7b4e7232fp-1,  -0x1.2a24b36f7c21fp-2,
    0x1.ef2b74cae5078p-2,  -0x1.de1d98b520042p-2, 0x1.d5391608443d8p-3,  0x1.05b438a3301fep-2,
    -0x1.fdb8c818b88bbp-2, 0x1.010649770e6e2p-1,  -0x1.0ac3a03932019p-2, 0x1.72e8aff4ffb81p-1,
    0x1.b107268434c49p-7,  -0x1.7aca4cb88bc25p-1, 0x1.5810624dd2f1ep-7,  0x1.6872b020c49bcp-8};
static const double golden_rmsprop_warm_up[] = {
    -0x1.82e9cebec89a5p-1, -0x1.97bd462876e5fp-5, 0x1.9cd5a90f96392p-1,  -0x1.c31fc0387648fp-3,
    0x1.b756395ae7782p-2,  -0x1.e88e5cf217beep-2, 0x1.109c822571e07p-2,  0x1.7eadfc5a05b3ep-3,
    -0x1.485d60a7de1a7p-1, 0x1.35ac30f6faf1cp+0,  -0x1.927baef633386p-1, 0x1.22e7ac1abbec9p-3,
    0x1.547d4608ad616p-1,  -0x1.a280ad2824a91p-1, 0x1.47ae147ae147ap-7,  0x1.47ae147ae147ap-6};
