/* SPDX-License-Identifier: MIT */
/* Made by tests/golden/make_optim.py with PyTorch 2.15.0+cu132. */
static const double golden_sgd_plain[] = {
    -0x1.799999999999ap-1, -0x1.3333333333332p-5, 0x1.999999999999ap-1, -0x1.0000000000000p-2,
    0x1.ccccccccccccdp-2,  -0x1.d99999999999ap-2, 0x1.e666666666666p-3};
static const double golden_sgd_decay[] = {
    -0x1.75c53dfc387b4p-1, -0x1.34a08d8202159p-5, 0x1.959792a43ee9cp-1, -0x1.f9802735b706fp-3,
    0x1.c7caf5753ee74p-2,  -0x1.d506990e9fef3p-2, 0x1.e18e71e9aab77p-3};
static const double golden_sgd_momentum[] = {
    -0x1.62653a976977cp-1, -0x1.d805e161e6827p-9, 0x1.bd8db314e971bp-1, -0x1.cf3996c5d84c6p-2,
    0x1.b954712b27911p-2,  -0x1.553be69e9849ep-2, 0x1.79b6c2aef0439p-3};
static const double golden_sgd_nesterov[] = {
    -0x1.864b3baab57cbp-1, -0x1.c79428117e438p-7, 0x1.bc9c0cd95ed8fp-1, -0x1.69c18df50dc32p-2,
    0x1.b16a0137cfdb6p-2,  -0x1.8ed7a65209412p-2, 0x1.f83cf35386d45p-3};
static const double golden_sgd_maximize[] = {
    -0x1.75a7c7aa09647p-1, -0x1.ea80fa2db17e6p-6, 0x1.3124449a182c9p-1, -0x1.4cf416ca942f9p-5,
    0x1.23e450af62314p-1,  -0x1.5a39944a14f03p-1, 0x1.13f1292ab731ep-2};
static const double golden_adam_plain[] = {
    -0x1.7b80fc3f8de83p-1, 0x1.23c63a984e724p-11, 0x1.8c7e79997b70bp-1, -0x1.2475c2bdc33f2p-2,
    0x1.f5a2ce040bc90p-2,  -0x1.df113a1ccaaa2p-2, 0x1.e0df8a13f5a6dp-3};
static const double golden_adam_options[] = {
    -0x1.771864f6f5073p-1, 0x1.ee936fcf2d0bep-9,  0x1.5749f379bd583p-1, -0x1.7a27cfe403b10p-3,
    0x1.02633a0bef956p-1,  -0x1.10b7ccfd6168bp-1, 0x1.08fecb8d0f5b6p-2};
static const double golden_adam_amsgrad[] = {
    -0x1.6cb907bebd123p-1, -0x1.576b06fdccfbap-8, 0x1.8611cdc047eeep-1, -0x1.30c1beac7b402p-2,
    0x1.d6ecf1f4115a4p-2,  -0x1.bae3c5a36e6ffp-2, 0x1.bdd55a80c9473p-3};
static const double golden_adadelta_plain[] = {
    -0x1.7f862277ef93dp-1, -0x1.166a2578a1258p-8, 0x1.828964f94957cp-1, -0x1.fe292c1e0cde2p-3,
    0x1.f9fac8f1b25eap-2,  -0x1.fd572673e679cp-2, 0x1.fedfdbb625bcap-3};
static const double golden_adadelta_options[] = {
    -0x1.7a83979153de2p-1, -0x1.f0ca903f0c716p-7, 0x1.843778fcc6beep-1, -0x1.f10c56d1eb9a6p-3,
    0x1.e56b6ede6455dp-2,  -0x1.f1124f44d4c54p-2, 0x1.f71f6421f0bb8p-3};
static const double golden_adamw_plain[] = {
    -0x1.7b203143c2026p-1, 0x1.23eaac088f318p-11, 0x1.8c1a7e7f56cb1p-1, -0x1.242dc257b5236p-2,
    0x1.f520dc74f00d1p-2,  -0x1.de93ca4caef27p-2, 0x1.e06492a88215ap-3};
static const double golden_adamw_options[] = {
    -0x1.7e1ea0729e99ep-1, 0x1.fcf258142ba52p-9,  0x1.604caba34a659p-1, -0x1.817845e603a19p-3,
    0x1.07a05e364d7d4p-1,  -0x1.16e0b0b065ff9p-1, 0x1.0f9cfec71c5dap-2};
static const double golden_adamw_amsgrad[] = {
    -0x1.7e3b0e2ba4800p-1, 0x1.5e880d0e65a3cp-8,  0x1.629aa288e40b2p-1, -0x1.821c88ca42fe9p-3,
    0x1.07399edd76b11p-1,  -0x1.14e93ba48bf79p-1, 0x1.12845fb2a371ap-2};
static const double golden_rmsprop_plain[] = {
    -0x1.6e89e6ca596f7p-1, -0x1.e25193805bcf4p-5, 0x1.b6ef69c62226ep-1, -0x1.3b797f1e4f10cp-2,
    0x1.9339f60ccb8acp-2,  -0x1.976dc534ce5fep-2, 0x1.a024012f801b2p-3};
static const double golden_rmsprop_momentum[] = {
    -0x1.490ac9c41a117p-1, -0x1.57de958d22b64p-4, 0x1.edf0a775161fbp-1, -0x1.f73ab91710fc9p-2,
    0x1.a5ec767f64d97p-3,  -0x1.3caa5c0a046abp-3, 0x1.12a6cfcc178cbp-3};
static const double golden_rmsprop_centered[] = {
    -0x1.7b20705fa25fep-1, -0x1.388d145086ca0p-6, 0x1.8f36561867d78p-1, -0x1.0d25327ceeac8p-2,
    0x1.e10370b02860ap-2,  -0x1.e3f775d9939ffp-2, 0x1.e6feae24d966fp-3};
static const double golden_rmsprop_options[] = {
    -0x1.715be25cedc29p-1, 0x1.682483bb26777p-4,  0x1.67790142af8ebp-2, 0x1.1e89bf9250653p-4,
    0x1.6df518d29d513p-1,  -0x1.8ae69e8ee1472p-1, 0x1.510224328b658p-2};
static const double golden_adagrad_plain[] = {
    -0x1.6e987b220125ap-1, -0x1.d9ec2f309d7f0p-5, 0x1.b6d6550ec73a8p-1, -0x1.3cc80108ad7edp-2,
    0x1.941b60b27079bp-2,  -0x1.9712e48f0666bp-2, 0x1.9fb6c923764a0p-3};
static const double golden_adagrad_options[] = {
    -0x1.7d63a414052b0p-1, 0x1.b5eb120276f38p-8,  0x1.3d5c74bd94491p-1, -0x1.1ec3e8dbb3308p-3,
    0x1.028c0d91ae4fdp-1,  -0x1.2782d915c8840p-1, 0x1.23d06be7d1c8dp-2};
static const double golden_nadam_plain[] = {
    -0x1.7f93cfa48136ep-1, -0x1.e9cbb11fa524fp-10, 0x1.819f03937fda0p-1, -0x1.0132610b05d13p-2,
    0x1.fcdae2d8252cdp-2,  -0x1.fd435068c6157p-2,  0x1.fdff625edc6b6p-3};
static const double golden_nadam_options[] = {
    -0x1.761920f1b224bp-1, 0x1.538d7a8a61fbcp-6,  0x1.6043840542f05p-1, -0x1.da902295d75afp-3,
    0x1.088ae8179c3bdp-1,  -0x1.0439ead5c07c2p-1, 0x1.fb8ae57dd8f7ap-3};
static const double golden_nadam_decoupled[] = {
    -0x1.7436ee382889dp-1, -0x1.311bce8afbee5p-6, 0x1.8861310718129p-1, -0x1.065c0ee241aedp-2,
    0x1.d6b739e582592p-2,  -0x1.db004756128a7p-2, 0x1.e2438b8c68d5fp-3};
static const double golden_radam_plain[] = {
    -0x1.7c2a0870b3133p-1, 0x1.872792b18762fp-9,  0x1.821243b28047fp-1, -0x1.101686aeb476ap-2,
    0x1.010de0f7276c7p-1,  -0x1.f5b3f25f8d48dp-2, 0x1.ed55fcaeadbf9p-3};
static const double golden_radam_options[] = {
    -0x1.7f169b0131869p-1, -0x1.88f52cb9637c7p-9, 0x1.7378a5fb3f748p-1, -0x1.bdd6a09e84c69p-3,
    0x1.f8aa2812a393dp-2,  -0x1.05c525127f84ep-1, 0x1.087a63751db41p-2};
static const double golden_radam_decoupled[] = {
    -0x1.70dc6d8f9786fp-1, 0x1.83be97ed5c2eep-8,  0x1.7c793a0dcc58dp-1, -0x1.1a9e78ecf9968p-2,
    0x1.f9ffab3fddefcp-2,  -0x1.e18cd622064f6p-2, 0x1.d11fe05d45f56p-3};
static const double golden_rprop_plain[] = {
    -0x1.847ae147ae147p-1, -0x1.3d70a3d70a3d7p-6, 0x1.88f5c28f5c28fp-1, -0x1.13d70a3d70a3dp-2,
    0x1.ec28f5c28f5c3p-2,  -0x1.f1eb851eb851ep-2, 0x1.d851eb851eb85p-3};
static const double golden_rprop_options[] = {
    -0x1.70a3d70a3d70ap-1, 0x1.eb851eb851eb9p-5,  0x1.6b851eb851eb8p-1, -0x1.851eb851eb851p-3,
    0x1.1eb851eb851ecp-1,  -0x1.0a3d70a3d70a4p-1, 0x1.3d70a3d70a3d8p-2};
static const double golden_asgd_plain[] = {
    -0x1.7f5b2d938cef3p-1, -0x1.eb846adea3038p-9, 0x1.828e5f1134432p-1, -0x1.fffeae26c6e20p-3,
    0x1.fadffa8cceab2p-2,  -0x1.fc27a8c6de35bp-2, 0x1.fd6f55d9a6da6p-3};
static const double golden_asgd_options[] = {
    -0x1.2a23cb8640198p-1, 0x1.409c6af3a07eap-4,  0x1.e931f6bf89941p-2, -0x1.b5ebbbb9a3bcep-3,
    0x1.d9b5928e45197p-2,  -0x1.b0107b6636101p-2, 0x1.a3f5431b62701p-3};
static const double golden_adafactor_vector[] = {
    -0x1.7dd7277b1f52ep-1, -0x1.14e4a0fc49740p-5, 0x1.91e5209f02924p-1, -0x1.e1e64289e3eebp-3,
    0x1.cdec33295c668p-2,  -0x1.eb6de52f76cd9p-2, 0x1.00a7cbc449c81p-2};
static const double golden_adamax_plain[] = {
    -0x1.7b51c39915a3ap-1, -0x1.5be81ea06ed05p-9, 0x1.89e61fcb8612ap-1, -0x1.1c795075944a2p-2,
    0x1.f5c5af115ab45p-2,  -0x1.e605fd5025c26p-2, 0x1.e1e05b19e557ep-3};
static const double golden_adamax_options[] = {
    -0x1.7bc507e450f31p-1, 0x1.2d76a310c3135p-7,  0x1.615ea238ba826p-1, -0x1.8bba13f7816afp-3,
    0x1.0552eaf99724bp-1,  -0x1.0f4a5b689a36ep-1, 0x1.0fe670e0e3bffp-2};
static const double golden_adafactor_matrix[] = {
    -0x1.7a1073e5d4789p-1, -0x1.62109cc58ec80p-6, 0x1.9c2b149b07174p-1,  -0x1.e03b1caf60c7ep-3,
    0x1.e2a9c2cbbc5f6p-2,  -0x1.ec1eee33f3266p-2, 0x1.f7d4ad3c5b7acp-3,  -0x1.958d51e104017p-1,
    0x1.3e1c6d330c022p-7,  0x1.76bc068561a1ap-1,  -0x1.bd42c4a23cb31p-3, 0x1.fc8d0f93a16a7p-2,
    -0x1.17ceb4f0f8d62p-1, 0x1.164d004ee1245p-2,  -0x1.805c0898b83dep-1};
static const double golden_adafactor_options[] = {
    -0x1.eaad2c837105bp-2, -0x1.46fba858a8acbp-7, 0x1.69bb2e520fdcfp-2,  -0x1.5f245cc7233d6p-3,
    0x1.205e930de2929p-1,  -0x1.1126189df1561p-1, 0x1.7740b85d2df98p-3,  -0x1.458e142bc2d40p-2,
    -0x1.35b333183f1b7p-6, 0x1.b6d71ec15b773p-2,  -0x1.ab51827cc85c2p-3, 0x1.53c302bc2c3efp-2};
static const double golden_muon_wide[] = {
    -0x1.6f22aef39bc91p-1, -0x1.e5c08bcb693bcp-7, 0x1.89a89baed9292p-1,  -0x1.2ccbf1fe9a94ep-2,
    0x1.dc74d6ad4e9f6p-2,  -0x1.d8465b48ecc78p-2, 0x1.ce4d89f1c8e30p-3,  -0x1.91c27a8005ed1p-1,
    0x1.ed47d78bfef19p-8,  0x1.7de0c31574adcp-1,  -0x1.0f43f1baa3b09p-2, 0x1.f54dc6f05f586p-2,
    -0x1.f967516cc7e92p-2, 0x1.193704e85a454p-2,  -0x1.91318dee48da6p-1};
static const double golden_muon_tall[] = {
    -0x1.7a8f470aebadep-1, 0x1.9d0ddd495b584p-6,  0x1.8f86568b9ce77p-1,  -0x1.4d119b9037315p-2,
    0x1.ddedbcff5406ep-2,  -0x1.d90e0afe4e849p-2, 0x1.d4c2effe60e78p-3,  -0x1.9f324e2e90a9cp-1,
    0x1.8cd287ea8c562p-8,  0x1.79bd3726c3f27p-1,  -0x1.ac7bfb334a2f6p-3, 0x1.0376a73d7f977p-1,
    -0x1.f3780a6267f8ep-2, 0x1.351fc4a131b16p-2,  -0x1.9450b7564b09bp-1};
static const double golden_muon_adamw[] = {
    -0x1.8178f28880d81p-1, 0x1.82647ded9f0b2p-8,  0x1.8a05a5819a720p-1,  -0x1.17751cd3c2826p-2,
    0x1.f5143c3a39e2ep-2,  -0x1.f7c3ba4fc2b72p-2, 0x1.00a66f5ced465p-2,  -0x1.9001e859ac044p-1,
    0x1.49b8bd60f4f19p-9,  0x1.82ec2ba30d565p-1,  -0x1.e6836771debbap-3, 0x1.0053934555e8cp-1,
    -0x1.02da6cce3173fp-1, 0x1.1187e0bc525b3p-2,  -0x1.87f1488fd5e67p-1};
static const double golden_muon_spectral[] = {
    -0x1.6fb7633be4276p-1, -0x1.5f24d805c019ap-8, 0x1.88da582e858a6p-1,  -0x1.27edc994436f4p-2,
    0x1.d94ff1b02a6c0p-2,  -0x1.d33048ef76b22p-2, 0x1.d69ffb3f20c0fp-3,  -0x1.922f39194eb83p-1,
    0x1.e9051577237d7p-7,  0x1.7c3b8264ae48ap-1,  -0x1.058aace692322p-2, 0x1.f7de77845fd80p-2,
    -0x1.f53287a0bb85ap-2, 0x1.1b8335420f0ffp-2,  -0x1.8f181122f3cecp-1};
static const double golden_sparse_adam_plain[] = {
    -0x1.8b3aa3f1740d0p-1, 0x1.675f8f3bde09cp-8,  0x1.7ffaec53891dep-1,  -0x1.17505e6902df1p-2,
    0x1.f929d3d6019b7p-2,  -0x1.efb00ee73212fp-2, 0x1.d163107fc0043p-3,  -0x1.81fd2dea90cb3p-1,
    0x1.2413c6d3fad12p-5,  0x1.86002cd0f5bb5p-1,  -0x1.07e09a5f4b2b6p-2, 0x1.e98ab81d17e60p-2};
static const double golden_sparse_adam_options[] = {
    -0x1.69ac6367548b1p-1, -0x1.067578a2743b6p-8, 0x1.7f790b57b4d1ep-1,  -0x1.b0b3e63831827p-3,
    0x1.08209ce5d58ffp-1,  -0x1.0ee31bc2c9c44p-1, 0x1.2a2e2557de131p-2,  -0x1.7d13f056a7e16p-1,
    -0x1.088796b9fd001p-4, 0x1.751f8a70f284dp-1,  -0x1.e8cbd681b4133p-3, 0x1.16539c98ab74fp-1};
static const double golden_lbfgs_plain[] = {
    -0x1.b815f2ee8887ap-1, 0x1.68c1ff8eae300p-1, 0x1.7e3d237d948b0p-2,
    0x1.7e25253fc8c20p-3,  0x1.19b3333333333p+8, 0x1.28cc194118dccp+7,
    0x1.34921ec55b67bp+5,  0x1.568dbcd9d819bp+3, 0x1.4000000000000p+4};
static const double golden_lbfgs_wolfe[] = {
    0x1.0000025d9f3acp+0, 0x1.fffffe4913e3ep-1, 0x1.fffff4827cdd9p-1, 0x1.ffffe994744e3p-1,
    0x1.19b3333333333p+8, 0x1.8cd935b50f517p+1, 0x1.a900a5ced434cp-7, 0x1.c000000000000p+5};
static const double golden_lbfgs_short[] = {
    0x1.217680d58169ap-1, 0x1.2ad61245a7269p-2, 0x1.01034bba061f2p-4, -0x1.e8b6cbecff91bp-7,
    0x1.19b3333333333p+8, 0x1.1d2ccfbf603dap+2, 0x1.ce0e023e3252ep+1, 0x1.93becd268ec02p+1,
    0x1.48a1b38a0f554p+1, 0x1.e000000000000p+4};
static const double golden_lbfgs_tolerant[] = {
    0x1.fe720a6776e02p-1,  0x1.fcb9e30b9e7ffp-1,  0x1.f97f2b2c44fc7p-1,  0x1.f2c27e51861a8p-1,
    0x1.19b3333333333p+8,  0x1.8cd935b50f517p+1,  0x1.a900a5ced434cp-7,  0x1.1176b15340a96p-12,
    0x1.1176b15340a96p-12, 0x1.1176b15340a96p-12, 0x1.1176b15340a96p-12, 0x1.1176b15340a96p-12,
    0x1.1176b15340a96p-12, 0x1.d000000000000p+5};
static const double golden_lbfgs_maximize[] = {
    0x1.f43594f216c66p-1,  0x1.e8b9e689f52a7p-1,  0x1.d21e03a1d3b6bp-1,  0x1.a64f5ca5d2a98p-1,
    -0x1.19b3333333333p+8, -0x1.da34e254ac1b8p+1, -0x1.2047be359571cp+1, 0x1.f800000000000p+5};
