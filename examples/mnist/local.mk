# The main job. -no-install makes it a plain program in build/, not a script that finds libht first.
