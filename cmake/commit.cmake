# Writes OUTPUT from the template INPUT with the commit of the clone SOURCE; run by every build, so that it never goes
# stale. A file that would not change is left alone, and nothing is compiled.
set(BDNN_COMMIT "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)  # sources that were copied into somebody else's clone are of no commit
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --exclude=* --abbrev=12
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(BDNN_COMMIT ${described})
  endif()
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
