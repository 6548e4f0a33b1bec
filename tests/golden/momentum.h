/* SPDX-License-Identifier: MIT */
/* Made by tests/golden/make_momentum.py with PyTorch 2.15.0+cu132. */
static const double golden_sgd[] = {
    0x1.fd70a3d70a3d7p-1,  -0x1.f99999999999ap+0, 0x1.0000000000000p-1,  0x1.e9f6a93f290acp-1,
    -0x1.d9096bb98c7e3p+0, 0x1.f53f7ced91687p-2,  0x1.ad44dca8e2e2cp-1,  -0x1.8bae685db76b4p+0,
    0x1.c3a92a3055326p-2,  0x1.a0ddad6723473p-1,  -0x1.7207d104bfd85p+0, 0x1.c016eafe103bbp-2,
    0x1.9919d3950a94fp-1,  -0x1.64424610648d1p+0, 0x1.bc5431ed7944dp-2,  0x1.7a388137f51e9p-1,
    -0x1.3888eb6ff97f5p+0, 0x1.a602e5129cddfp-2,  0x1.741c145b8f437p-1,  -0x1.228212dd936c2p+0,
    0x1.aa82c004e1d2dp-2,  0x1.5bf604747b7e0p-1,  -0x1.ffe2c95dcb856p-1, 0x1.994e6ef834a56p-2,
    0x1.4f33832cb68d3p-1,  -0x1.de9aed8637e1cp-1, 0x1.8f22361dc84a9p-2,  0x1.3c4ff1e43ac4ap-1,
    -0x1.a23fe18a9c73ap-1, 0x1.83c547f8d8765p-2,  0x1.297b26809b4a9p-1,  -0x1.6b9fe496599b4p-1,
    0x1.7697f3f98f9dbp-2,  0x1.139da06532e4bp-1,  -0x1.342e20ec09ebfp-1, 0x1.64a20059fc2e6p-2};
static const double golden_nesterov[] = {
    0x1.fb22d0e560419p-1,  -0x1.f3d70a3d70a3dp+0, 0x1.0000000000000p-1,  0x1.d898915bdd767p-1,
    -0x1.bee5de15ca6cap+0, 0x1.e9ba5e353f7cfp-2,  0x1.9e81aec1490b1p-1,  -0x1.7576965f5275fp+0,
    0x1.b9de69ad42c3dp-2,  0x1.924e2139c4438p-1,  -0x1.570ca0970638dp+0, 0x1.b9cf21a642f55p-2,
    0x1.8369f4974eb57p-1,  -0x1.3e5c049ad28f0p+0, 0x1.b1733f3fa179cp-2,  0x1.55a4d44dd9878p-1,
    -0x1.04133575346b8p+0, 0x1.8c05e8de479a3p-2,  0x1.515c967d2840cp-1,  -0x1.e157b25eb065ep-1,
    0x1.91d26a065d9f4p-2,  0x1.36c8f2fb2e374p-1,  -0x1.951deda80c3adp-1, 0x1.7eef9b1548f32p-2,
    0x1.218673f6d6c0ap-1,  -0x1.615cb7ed618eep-1, 0x1.6cc12ea19abc1p-2,  0x1.16482c2f0671ep-1,
    -0x1.2dda237ad3725p-1, 0x1.6b2f93256eecfp-2,  0x1.0740f490b9001p-1,  -0x1.02ddecbb57e6ep-1,
    0x1.60779e0817087p-2,  0x1.d6db4154e7af5p-2,  -0x1.8dfdc1b227e21p-2, 0x1.460c6b7e65171p-2};
static const double golden_late[] = {
    0x1.fd70a3d70a3d7p-1,  -0x1.f99999999999ap+0, 0x1.0000000000000p-1,  0x1.e68db8bac710dp-1,
    -0x1.d76c8b4395811p+0, 0x1.f0a3d70a3d70ap-2,  0x1.a621ea35935fdp-1,  -0x1.7d9a6b50b0f28p+0,
    0x1.c126e978d4fdfp-2,  0x1.923f2da7d8f79p-1,  -0x1.5db521144cbe2p+0, 0x1.b545e0b4e11dcp-2,
    0x1.8cc308e70cf2ap-1,  -0x1.556ef256742afp+0, 0x1.b1a5c29cc8224p-2,  0x1.75cc8bf9091f3p-1,
    -0x1.35cbbbc94ea5fp+0, 0x1.a077c16e301a9p-2,  0x1.5068e6adc98e1p-1,  -0x1.f6ca0a878267bp-1,
    0x1.8916279f2474bp-2,  0x1.400ff83fc6d34p-1,  -0x1.c45431e449270p-1, 0x1.7ea937c8dda84p-2,
    0x1.390540296223fp-1,  -0x1.b432f2f47a286p-1, 0x1.784d19f37ad8fp-2,  0x1.30cf12a037c29p-1,
    -0x1.931bdfbe663dep-1, 0x1.75a529cb902f7p-2,  0x1.1ba6a6fda899fp-1,  -0x1.46eb1156f6749p-1,
    0x1.6bc765df1c2edp-2,  0x1.0d0399746ed76p-1,  -0x1.1fcba1ca524d7p-1, 0x1.606cc9d3f2a25p-2};
static const double golden_one_cycle[] = {
    0x1.ff62b6ae7d567p-1,  -0x1.fe9e1b089a027p+0, 0x1.ffe5c91d14e3cp-2,  0x1.f4c645ca0eac7p-1,
    -0x1.ed24836d076a5p+0, 0x1.f9dcc75d68d88p-2,  0x1.d157b6dafbef4p-1,  -0x1.bb6659b44ff60p+0,
    0x1.dff89f9f6e956p-2,  0x1.b2612fd1a3f3ep-1,  -0x1.8942ef889bc31p+0, 0x1.cdcab00254145p-2,
    0x1.8f3f402dd0f82p-1,  -0x1.54117482bf6d4p+0, 0x1.b6b31d4a8754ap-2,  0x1.5f25454405ec8p-1,
    -0x1.1802e643ca488p+0, 0x1.8e91849983047p-2,  0x1.58a1f0d0ebff8p-1,  -0x1.0235f0a3e6d67p+0,
    0x1.923f464444c58p-2,  0x1.3decff9668c0ap-1,  -0x1.ba5692d6da9b7p-1, 0x1.7e6e23b310628p-2,
    0x1.1dd42e805249ep-1,  -0x1.6f77132b0c6acp-1, 0x1.61e49c722facdp-2,  0x1.11b49a1e60133p-1,
    -0x1.4436f2652e3c9p-1, 0x1.5c1ab010e60bcp-2,  0x1.05f03ec8433f6p-1,  -0x1.1e87acf5d7824p-1,
    0x1.550dd9a67d939p-2,  0x1.f1582940df4dap-2,  -0x1.fa456c69efdfbp-2, 0x1.4a133af9bcc62p-2};
static const double golden_rmsprop[] = {
    0x1.cce6f64a9a50cp-1,  -0x1.e6690538665bfp+0, 0x1.0000000000000p-1,  0x1.f1205553b4057p-2,
    -0x1.81662170ae884p+0, 0x1.9ad38b7f3bc92p-3,  0x1.9cd188c564894p-3,  -0x1.263c6b4481760p+0,
    0x1.9be85026a548fp-4,  0x1.14a0f03e53999p-4,  -0x1.ce5fa71c05c66p-1, 0x1.3677b2a6347f2p-3,
    0x1.8c6246eac5149p-5,  -0x1.98dabe1d074a6p-1, 0x1.91db3a36f39dfp-3,  0x1.54047ef001922p-4,
    -0x1.193432333e7e8p-1, 0x1.bc66ba2452589p-3,  0x1.972e52a615276p-3,  -0x1.efbaf4e8a5becp-2,
    0x1.a545b6f5d921ap-2,  0x1.da249f5d9b00bp-3,  -0x1.458038c52b71bp-2, 0x1.31cbed4ff6a72p-2,
    0x1.d80bacb275760p-3,  -0x1.005d186c67390p-2, 0x1.c279850522a65p-3,  0x1.186c50379dcaep-2,
    -0x1.0e0c40f93794ap-3, 0x1.a3907f11e2af1p-3,  0x1.0ad8361aecd03p-2,  -0x1.5df12d184ca73p-4,
    0x1.03ea8a2a8436dp-2,  0x1.de17c384a51f3p-3,  -0x1.27567247b4a29p-8, 0x1.518023b594021p-3};
static const double golden_centered[] = {
    0x1.d52784389c173p-1,  -0x1.e743f1455f022p+0, 0x1.0000000000000p-1,  0x1.13d0c6e29bdbep-1,
    -0x1.8413e5d40c70ap+0, 0x1.fdda32a751165p-3,  0x1.eee0251fe2b32p-3,  -0x1.28b170d190c5bp+0,
    0x1.e4ca97fcd70fcp-5,  0x1.cd7922572d2e1p-4,  -0x1.d4bd9232c9944p-1, 0x1.c3803ad648fb3p-4,
    0x1.69ef76c9f3bebp-4,  -0x1.9f6de933fa7d2p-1, 0x1.43ee406eda981p-3,  0x1.7a12b27f2426cp-4,
    -0x1.1edccfc1cda81p-1, 0x1.dad3367429e17p-3,  0x1.923997a25cd47p-3,  -0x1.f9a19909c0b4bp-2,
    0x1.86b08d96da148p-2,  0x1.b7947f5cfd5d0p-3,  -0x1.4d120f28a7ca1p-2, 0x1.522ff3e27583dp-2,
    0x1.b3a863c191214p-3,  -0x1.06a4afcc956cep-2, 0x1.132f463256c74p-2,  0x1.041fdf6053abep-2,
    -0x1.1596d05c853c5p-3, 0x1.fef7e84f4118ep-3,  0x1.02039659952b1p-2,  -0x1.6726058444cd6p-4,
    0x1.ffebf3dd72caep-3,  0x1.d9e7d4b2afbffp-3,  -0x1.3827df1c58cc0p-8, 0x1.63997ccf34aedp-3};
static const double golden_adam[] = {
    0x1.fae18ac6838ecp-1,  -0x1.fd70aa8cf54cbp+0, 0x1.0000000000000p-1,  0x1.ec4cd2976272ep-1,
    -0x1.f69a0308da94ap+0, 0x1.e20ddbfed758ap-2,  0x1.c7398a01d1e67p-1,  -0x1.e551996da55b1p+0,
    0x1.945498b74033cp-2,  0x1.b8e5af3013867p-1,  -0x1.dd73fa25d2440p+0, 0x1.7eba2f8de1413p-2,
    0x1.ad720e7912993p-1,  -0x1.d74be0fbd4f2fp+0, 0x1.6ceca4b8f4e16p-2,  0x1.9c433180dfedbp-1,
    -0x1.ce8ba2a5c5ce1p+0, 0x1.4fca01336a172p-2,  0x1.96b964daa2accp-1,  -0x1.c7c1872d77a39p+0,
    0x1.62c53a49bd709p-2,  0x1.8e7bdcd0605ffp-1,  -0x1.c1ec0d75d8476p+0, 0x1.60c35e0cc635ap-2,
    0x1.898cd1c09569bp-1,  -0x1.bea6dcbf4575ap+0, 0x1.5dd43b3e461a2p-2,  0x1.8396956e58e38p-1,
    -0x1.b9a569c16f51ep+0, 0x1.6180e2d346338p-2,  0x1.7020f857daa8bp-1,  -0x1.added25c7c93bp+0,
    0x1.49fac4700a23dp-2,  0x1.60ba060064a0dp-1,  -0x1.a57922a34c75fp+0, 0x1.30e19b005e3efp-2};
