/* SPDX-License-Identifier: MIT
 *
 * The inside of optimizers: the row that defines one (a file each), the state tensors of a
 * parameter, and how a data-parallel wrapper replaces step(). */
#ifndef HT_OPTIM_OPTIM_H
#define HT_OPTIM_OPTIM_H

#include "core/tensor/tensor.h"
#include "ht/kernels/update.h"
#include "ht/optim.h"
#include "ht/optimizers.h"
#include "ht/schedules.h"

enum { HT_OPTIMIZER_STATES = 3, HT_OPTIMIZER_SETTINGS = 9, HT_SETTING_FLAG = 0 };

/* The arguments of the update of a complete parameter; all are borrowed. */
typedef struct ht_whole_step {
    const ht_update_call *settings; /* with the rate */
    double number;                  /* of this step, from 1 */
    ht_tensor *parameter, *grad;
    ht_tensor *const *state;
} ht_whole_step;

/* The row that defines an optimizer. */
typedef struct ht_optimizer_type {
    const char *name; /* "SGD" */
    ht_kernel kernel; /* 0: there is `update` */
    /* The step of a complete parameter, by operations. The gradient is scaled, and negated to
     * maximize. It changes nothing before all new values are there. */
    ht_status (*update)(const ht_whole_step *step);
    int ndim; /* of the parameters; 0: any */
    /* In place of kernel and update: a step that evaluates the loss. NULL: step() needs none. */
    ht_status (*step_with)(ht_optimizer *optimizer, ht_loss_fn *closure, void *user, double *loss);
    /* A memory of the optimizer, zeroed at first: its value in states, which is NULL after an error,
     * the check of such a value, its loading, and its end. */
    size_t memory_size;
    ht_value *(*memory_save)(const void *memory);
    ht_status (*memory_check)(const char *what, const ht_optimizer *optimizer,
                              const ht_value *state);
    ht_status (*memory_load)(struct ht_optimizer *optimizer, const ht_value *state);
    void (*memory_clear)(void *memory);
    const char *state_names[HT_OPTIMIZER_STATES];
    /* Whether updates with these settings use that state tensor; NULL: all of them. One that they
     * do not use stays as it is. */
    bool (*uses)(const ht_update_call *settings, int state);
    /* A state tensor that has another shape than the parameter: zeros in *made, or NULL if this
     * parameter has no such tensor. NULL: all are like the parameter. */
    ht_status (*make_state)(ht_tensor *parameter, int state, ht_tensor **made);
    /* The offset of the hyperparameter that a new state tensor is filled with; 0: zeros. */
    size_t start[HT_OPTIMIZER_STATES];
    /* The hyperparameters by the names of its options (HT_SETTING). A double is in [low, below). */
    struct {
        const char *name;
        size_t at, from; /* offsets in the call and in the options */
        double below;    /* HT_SETTING_FLAG: a bool; negative: an int below -below */
        double low;
    } settings[HT_OPTIMIZER_SETTINGS];
    /* Checks that the ranges do not cover, after these passed; NULL: none. scheduled: a schedule may
     * have set the momentum. */
    ht_status (*check)(const char *what, const ht_update_call *settings, bool scheduled);
    bool decoupled; /* weight decay, without an option */
    /* A number of each parameter: its name in states, its value before the first step, and that
     * after step `step`. NULL: there is none. */
    const char *number_name;
    double (*number_start)(const ht_update_call *settings);
    double (*number_next)(const ht_update_call *settings, double lr, double step, double number);
} ht_optimizer_type;

typedef struct ht_optimizer_entry {
    ht_tensor *parameter;                     /* retained */
    ht_tensor *state[HT_OPTIMIZER_STATES];    /* owned; NULL before the first update; contiguous */
    bool is_new[HT_OPTIMIZER_STATES];         /* made, and not used by an update yet; */
    bool used_elsewhere[HT_OPTIMIZER_STATES]; /* but by one of another rank: under DASO */
    int64_t steps;                            /* updates so far */
    double number;                            /* of the type */
    int group;
} ht_optimizer_entry;

/* The hyperparameters at the time of a call of step(), for later updates: schedules may have set
 * others by then. */
typedef struct ht_step_arguments {
    ht_update_call settings;
    double lr;
    double grad_scale;
} ht_step_arguments;

/* Parameters with the same update: torch's param_groups. Their entries follow one another. */
typedef struct ht_optimizer_group {
    int first, count;        /* entries */
    ht_update_call settings; /* hyperparameters; the rest is filled in for each update */
    double lr;
    double initial_lr;           /* lr when the first schedule was made; NAN: there is none */
    ht_step_arguments arguments; /* of the updates that are due, or run */
} ht_optimizer_group;

/* A wrapper that has taken over step(). waits: it accumulates, and step() or zero_grad() is to do
 * nothing yet. drain finishes the updates it has not made yet. */
typedef struct ht_optimizer_deferral {
    bool (*waits)(void *user, bool to_step);
    ht_status (*step)(void *user);
    ht_status (*drain)(void *user);
    void *user; /* not owned */
} ht_optimizer_deferral;

typedef enum ht_step_mode { HT_STEP_AS_WRAPPER, HT_STEP_BLOCKING, HT_STEP_DEFERRED } ht_step_mode;

struct ht_optimizer {
    ht_object base;
    const ht_optimizer_type *type;
    int64_t steps;
    ht_optimizer_group *groups; /* owned */
    int group_count;
    ht_optimizer_entry *entries; /* owned */
    int count;
    ht_update_call *call;                  /* owned; the room for a call of all its parts */
    int call_room;                         /* of how many */
    const ht_optimizer_deferral *deferral; /* not owned; NULL: step() updates */
    ht_step_mode step_mode;                /* under a wrapper */
    struct ht_step_hook *hooks;            /* owned; in the order of their ids */
    int hook_count;
    uint64_t last_hook; /* the id of the last one */
    void *memory;       /* owned; of the type; NULL: it has none */
};

/* Constructors call this after they checked their own options. `what` names the constructor. */
ht_optimizer *ht__optimizer_new(const char *what, const ht_optimizer_type *type,
                                ht_value *parameters, double lr, const ht_update_call *settings);

/* group.c: one more group, or nothing changed. settings NULL: the first group's. */
ht_status ht__optimizer_add_group(const char *what, const ht_optimizer_type *type,
                                  ht_optimizer *optimizer, ht_value *parameters, double lr,
                                  const ht_update_call *settings);

/* settings.c: each setting of a type as a number, for any type of its field. */
double ht__optim_setting(const ht_optimizer_type *type, const ht_update_call *settings, int index);
void ht__optim_set_setting(const ht_optimizer_type *type, ht_update_call *settings, int index,
                           double value);
int ht__optim_setting_count(const ht_optimizer_type *type);

/* Reads the type's options struct. HT_ERR_ARGUMENT with the first option that is out of its range.
 */
ht_status ht__optim_read_options(const char *what, const ht_optimizer_type *type,
                                 const void *options, ht_update_call *settings);

/* "SGD group 0 of 4 parameters: momentum=0.9, ..." */
void ht__optimizer_describe_group(const ht_optimizer *optimizer, int group, char *text,
                                  size_t size);

/* HT_ERR_ARGUMENT unless low <= value < high; the message names both. */
ht_status ht__optim_check_range(const char *what, const char *name, double value, double low,
                                double high);

/* A sum over all elements of contiguous floating-point `x`, in double: clip_grad.c. */
ht_status ht__optim_reduce(const char *what, const ht_tensor *x, ht_kernel kernel, double *result);

/* *loss <- the loss of the closure, called with gradients on (optimizer.c). */
ht_status ht__optimizer_loss(ht_loss_fn *closure, void *user, double *loss);

/* ht_optimizer_step; errors name the public function `what` (optimizer.c). */
ht_status ht__optimizer_step(const char *what, ht_optimizer *optimizer);

/* hooks.c: those before the step, or those after it; up to the first that fails. */
ht_status ht__optimizer_run_hooks(ht_optimizer *optimizer, bool post);

/* From now on updates are those of this step(): each group's arguments are kept. */
void ht__optimizer_begin_step(ht_optimizer *optimizer);

/* Updates all parameters that have a gradient with the arguments kept: those of a group that lie on
 * one device, and are of one dtype, in one call. */
ht_status ht__optimizer_update_all(ht_optimizer *optimizer);

/* Updates one parameter from `grad` with the stored arguments, not with those that the optimizer
 * has now: the elements from `begin` to `end` (beyond the last: to the last). Parts follow one
 * another from the first element; the one that reaches the end completes the update. */
ht_status ht__optimizer_update_part(ht_optimizer *optimizer, int index, ht_tensor *grad,
                                    int64_t begin, int64_t end);

/* A new state tensor of that parameter; *made is NULL if it has no such tensor. */
ht_status ht__optimizer_new_state(ht_optimizer *optimizer, int index, int state, ht_tensor **made);

/* Whether updates with these settings use that state tensor. */
bool ht__optimizer_uses(const ht_optimizer_type *type, const ht_update_call *settings, int state);

/* The state tensors of one parameter that updates with these settings use, made when they are not
 * there; and the end of all. */
ht_status ht__optimizer_make_state(ht_optimizer *optimizer, int index,
                                   const ht_update_call *settings);
void ht__optimizer_drop_state(ht_optimizer *optimizer, int index);

int ht__optimizer_find(const ht_optimizer *optimizer, const ht_tensor *parameter); /* -1: none */

/* Hands step() to a wrapper; NULL gives it back. */
void ht__optimizer_defer(ht_optimizer *optimizer, const ht_optimizer_deferral *deferral);

/* Broadcasts the counters and state tensors of rank `root` on `comm`. Collective. */
ht_status ht__optimizer_broadcast(ht_optimizer *optimizer, ht_comm *comm, int root);

/* A double of a struct that goes into its state: what it is called, and where it is. */
typedef struct ht_optim_number {
    const char *name; /* NULL: none */
    size_t at;
    bool counts; /* an integer, from 0 on; others are anything but NaN */
} ht_optim_number;

/* HT_ERR_FORMAT unless `state` has a number that fits. */
ht_status ht__optim_check_state(const char *what, const ht_value *state,
                                const ht_optim_number *number);

/* plateau_detector.c: the same for the state of a complete detector. */
ht_status ht__plateau_detector_check_state(const char *what, const ht_value *state);

enum { HT_SCHEDULER_NUMBERS = 3 };

/* The values that a step of a schedule sets once all of them are valid. */
typedef struct ht_schedule_plan {
    double *lr;      /* owned array; of each group */
    double momentum; /* NAN: as it is */
} ht_schedule_plan;

/* A schedule is its rule, for one group at a time. */
typedef struct ht_scheduler_type {
    const char *name;
    /* The learning rate of epoch 0 after the rate `lr`; NULL: lr. */
    double (*start)(const ht_scheduler *scheduler, double lr, double first);
    /* The learning rate of scheduler->epoch (from 1) after the rate `lr`; `first` is the group's
     * when its first schedule was made. Computed step by step from the group's present rate. So a
     * rate that the program or another schedule set is kept, and the bits are those of torch's
     * chains of products. NULL: schedules of other schedules. */
    double (*lr)(const ht_scheduler *scheduler, double lr, double first);
    /* The momentum of scheduler->epoch (from 0), NAN to leave it. NULL: it is left. */
    double (*momentum)(const ht_scheduler *scheduler);
    /* Epoch 0 of a schedule of others: plans the start of its parts. NULL: start and momentum. */
    ht_status (*begin)(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan);
    /* Called first at each step, for values that all groups share; `what` is the public function. A
     * step that fails puts the epoch and the numbers back. NULL: nothing. */
    ht_status (*advance)(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan);
    /* For rules that look at a metric: whether to apply lr now. */
    bool (*observe)(ht_scheduler *scheduler, double metric);
    /* Its memory other than the epoch, for its state. */
    ht_optim_number numbers[HT_SCHEDULER_NUMBERS];
} ht_scheduler_type;

/* The first member of every schedule's struct. */
struct ht_scheduler {
    ht_object base;
    const ht_scheduler_type *type;
    ht_optimizer *optimizer; /* retained */
    int64_t epoch;
    bool is_first; /* of its optimizer: made the initial rates */
    int part_count;
    ht_scheduler **parts; /* owned array of retained schedules, which a schedule of others steps */
};

/* A schedule in `size` zeroed bytes. */
void *ht__scheduler_new(const ht_scheduler_type *type, ht_optimizer *optimizer, size_t size);
/* The same of `count` schedules of one optimizer; NULL after an error. */
void *ht__scheduler_of(const char *what, const ht_scheduler_type *type, int count,
                       ht_scheduler *const schedulers[], size_t size);

/* Restarts at epoch 0: plans the rate and the momentum that each group begins with, from the rates
 * of the plan. */
ht_status ht__scheduler_start(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan);
/* The same from the initial rates; and at once, or an error that changes nothing. */
ht_status ht__scheduler_begin(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan);
ht_status ht__scheduler_begin_now(const char *what, ht_scheduler *scheduler);
/* Counts an epoch and plans its rates and momentum. */
ht_status ht__scheduler_advance(const char *what, ht_scheduler *scheduler, ht_schedule_plan *plan);
/* The end of the constructor `what`: the schedule at its epoch 0, which begins with the rates that
 * the groups have; NULL, and released, after an error. */
ht_scheduler *ht__scheduler_made(const char *what, ht_scheduler *scheduler);

/* momentum.c: HT_ERR_ARGUMENT unless the optimizer has a momentum, or beta1 in its place. */
ht_status ht__optim_check_momentum(const char *what, const ht_optimizer *optimizer);
/* Sets it in all groups, from the next step() on. */
void ht__optim_set_momentum(ht_optimizer *optimizer, double momentum);

/* HT_ERR_ARGUMENT unless value >= low. */
ht_status ht__optim_check_count(const char *what, const char *name, int64_t value, int64_t low);

#endif
