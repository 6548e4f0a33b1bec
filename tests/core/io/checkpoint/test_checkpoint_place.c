/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* The places of checkpoints: the last K are kept, the newest intact one is found, and no file of
 * another job is lost. */
#include "checkpoint_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* It would be moved away as the checkpoint before. */
static void a_folder_is_not_replaced(void **state)
{
    struct stat info;

    (void)state;
    assert_int_equal(ht_checkpoint_save(ht_value_map(), folder, HT_COMM_WORLD, NULL), HT_ERR_IO);
    assert_error(HT_ERR_IO, ": it is a folder, not a file");
    assert_int_equal(stat(folder, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
}

/* A folder at FILE.part is an error; one at FILE.1 loses the earlier file, not the new one. */
static void other_folders_stay(void **state)
{
    char part[96], first[96];

    (void)state;
    snprintf(part, sizeof part, "%s.part", path);
    snprintf(first, sizeof first, "%s.1", path);
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    if (ht_test_rank == 0) {
        assert_int_equal(mkdir(part, 0700), 0);
        assert_int_equal(mkdir(first, 0700), 0);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL), HT_ERR_IO);
    assert_error(HT_ERR_IO, "run.h5.part: Is a directory");
    assert_true(number_in(path, false) == 1);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(rmdir(part), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_checkpoint_save(numbered(3), path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    assert_true(number_in(path, false) == 3);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(rmdir(first), 0);
}

static void the_last_k_are_kept(void **state)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();
    char name[96];

    (void)state;
    options.keep = 3;
    for (int i = 1; i <= 5; i++)
        assert_int_equal(ht_checkpoint_save(numbered(i), path, HT_COMM_WORLD, &options),
                         HT_SUCCESS);
    for (int age = 0; age < 3; age++) {
        snprintf(name, sizeof name, age > 0 ? "%s.%d" : "%s", path, age);
        assert_true(number_in(name, false) == 5 - age);
    }
    assert_false(is_there(".3"));
    assert_false(is_there(".part"));
    ht_barrier(HT_COMM_WORLD);
    options.keep = 1;
    ht_checkpoint_save(numbered(6), path, HT_COMM_WORLD, &options);
    assert_true(number_in(path, false) == 6);
}

/* Files of the ages in `gone` are missing or damaged. */
static void the_newest_good_one_is_found_over_gaps(void **state)
{
    ht_checkpoint_options options = ht_checkpoint_options_default();
    char name[96], second[112];

    (void)state;
    options.keep = 4;
    for (int i = 1; i <= 4; i++)
        ht_checkpoint_save(numbered(i), path, HT_COMM_WORLD, &options);
    snprintf(name, sizeof name, "%s.1", path);
    snprintf(second, sizeof second, "%s.2", path);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(unlink(name), 0);
        assert_int_equal(truncate(second, 3000), 0);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_true(number_in(path, true) == 1);
    assert_int_equal(ht_error_get(NULL), HT_SUCCESS); /* those that are not good are logged */
}

/* As ht-run asks for it: files of others are left where they are. */
static void only_checkpoints_of_the_job_count(void **state)
{
    const char *message;

    (void)state;
    setenv("HT_JOB", "job a", 1);
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    setenv("HT_JOB", "job b", 1);
    ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL);
    assert_true(number_in(path, true) == 2);
    setenv("HT_RESUME_JOB", "job a", 1);
    assert_true(number_in(path, true) == 1);
    assert_true(number_in(path, false) == 2);
    setenv("HT_RESUME_JOB", "job c", 1);
    assert_true(number_in(path, true) == 0);
    assert_int_equal(ht_error_get(&message), HT_ERR_STATE);
    assert_non_null(strstr(message, "run.h5 was written by another job"));
    ht_error_clear();
    unsetenv("HT_JOB");
    unsetenv("HT_RESUME_JOB");
}

static void permissions_stay(void **state)
{
    struct stat info;

    (void)state;
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    if (ht_test_rank == 0)
        assert_int_equal(chmod(path, 0600), 0);
    ht_barrier(HT_COMM_WORLD);
    ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

/* Through two links, one of them relative; FILE.1 is in the folder of the real file. */
static void a_symbolic_link_stays(void **state)
{
    char first[96], second[96];
    struct stat info;

    (void)state;
    snprintf(first, sizeof first, "%s/link1", folder);
    snprintf(second, sizeof second, "%s/link2", folder);
    if (ht_test_rank == 0) {
        assert_int_equal(symlink("link2", first), 0);
        assert_int_equal(symlink(path, second), 0);
    }
    ht_barrier(HT_COMM_WORLD);
    for (int i = 1; i <= 2; i++)
        assert_int_equal(ht_checkpoint_save(numbered(i), first, HT_COMM_WORLD, NULL), HT_SUCCESS);
    assert_int_equal(lstat(first, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_true(is_there("") && is_there(".1"));
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(truncate(path, 100), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_true(number_in(first, true) == 1);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(unlink(path) + mkdir(path, 0700), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_true(number_in(first, true) == 1); /* also when the path is not a regular file */
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(unlink(first) + unlink(second) + rmdir(path), 0);
}

/* A FILE.part of this process, as a job that was killed leaves one, and of one that lives. */
static void a_part_belongs_to_who_writes_it(void **state)
{
    char part[96];
    ht_seal seal;
    pid_t child = 0;

    (void)state;
    ht__place_patience = 0.2;
    snprintf(part, sizeof part, "%s.part", path);
    if (ht_test_rank == 0) {
        int file = open(part, O_WRONLY | O_CREAT, 0666), ends[2];

        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (child == 0) {
            ht__seal_begin(&seal);
            if (write(file, &seal, sizeof seal) != sizeof seal || write(ends[1], "", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        assert_int_equal(read(ends[0], part, 1), 1);
        close(file);
        close(ends[0]);
        close(ends[1]);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL), HT_ERR_IO);
    assert_error(HT_ERR_IO, ".part: two jobs save to one file");
    assert_true(is_there(".part"));
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    assert_false(is_there(".part"));
}

/* As a job leaves it that is killed between the last two steps. */
static void a_whole_part_is_waited_for_and_removed(void **state)
{
    char part[96];

    (void)state;
    ht__place_patience = 0.2;
    snprintf(part, sizeof part, "%s.part", path);
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    if (ht_test_rank == 0)
        assert_int_equal(rename(path, part), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    assert_false(is_there(".part"));
    assert_true(number_in(path, false) == 2);
}

HT_TEST_SUITE(test_checkpoint_place, IN_FOLDER(a_folder_is_not_replaced),
              IN_FOLDER(other_folders_stay), IN_FOLDER(the_last_k_are_kept),
              IN_FOLDER(the_newest_good_one_is_found_over_gaps),
              IN_FOLDER(only_checkpoints_of_the_job_count), IN_FOLDER(permissions_stay),
              IN_FOLDER(a_symbolic_link_stays), IN_FOLDER(a_part_belongs_to_who_writes_it),
              IN_FOLDER(a_whole_part_is_waited_for_and_removed));
