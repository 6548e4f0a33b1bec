/* SPDX-License-Identifier: MIT */
/* Made by tests/golden/make_optim.py with PyTorch 1.13.0a0. */
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
    -0x1.7b80fc3f8de83p-1, 0x1.23c63a984e6f8p-11, 0x1.8c7e79997b70bp-1, -0x1.2475c2bdc33f2p-2,
    0x1.f5a2ce040bc90p-2,  -0x1.df113a1ccaaa2p-2, 0x1.e0df8a13f5a6dp-3};
static const double golden_adam_options[] = {
    -0x1.771864f6f5073p-1, 0x1.ee936fcf2d0b7p-9,  0x1.5749f379bd583p-1, -0x1.7a27cfe403b10p-3,
    0x1.02633a0bef956p-1,  -0x1.10b7ccfd6168bp-1, 0x1.08fecb8d0f5b6p-2};
static const double golden_adadelta_plain[] = {
    -0x1.7f862277ef93dp-1, -0x1.166a2578a1258p-8, 0x1.828964f94957cp-1, -0x1.fe292c1e0cde2p-3,
    0x1.f9fac8f1b25eap-2,  -0x1.fd572673e679cp-2, 0x1.fedfdbb625bcap-3};
static const double golden_adadelta_options[] = {
    -0x1.7a83979153de2p-1, -0x1.f0ca903f0c716p-7, 0x1.843778fcc6beep-1, -0x1.f10c56d1eb9a6p-3,
    0x1.e56b6ede6455dp-2,  -0x1.f1124f44d4c54p-2, 0x1.f71f6421f0bb8p-3};
