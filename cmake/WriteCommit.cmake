# Run at every build: writes the commit the sources stand at into a header, touching it only when it changes.
# Arguments: -DSOURCE_DIR=... -DOUTPUT=...
set(commit "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)  # not the commit of a repository that sources without one lie in
  set(ENV{GIT_OPTIONAL_LOCKS} 0)
  execute_process(COMMAND ${GIT} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND described)
    set(commit "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define WACO_COMMIT \"${commit}\"\n")
