# Tests for which one MPI is enough, for they know nothing of it: they have the label unit-any-mpi.
add_executable(unit_tests
  topology_test.cpp traffic_test.cpp batches_test.cpp comparison_policy_test.cpp containers_test.cpp credits_test.cpp
  mailboxes_test.cpp outgoing_cells_test.cpp held_containers_test.cpp outgoing_cells_ranks_test.cpp
  incoming_cells_test.cpp rings_test.cpp early_messages_test.cpp proposals_test.cpp cut_containers_test.cpp address_space_test.cpp
  contributions_test.cpp node_arena_test.cpp tags_test.cpp strategy_test.cpp piece_layout_test.cpp graph_edges_test.cpp sparse_block_test.cpp sparse_choice_test.cpp relay_test.cpp split_test.cpp published_split.cpp random_case.cpp forecast_test.cpp device_forecast_test.cpp device_copies_test.cpp
  list_copy_test.cpp learner_test.cpp gathering_feedback_test.cpp options_test.cpp launcher_test.cpp launch_test.cpp
  progress_test.cpp turn_test.cpp ${PROJECT_SOURCE_DIR}/runtime/progress/progress.cpp ${PROJECT_SOURCE_DIR}/runtime/progress/turn.cpp
  waiting_test.cpp ${PROJECT_SOURCE_DIR}/runtime/progress/crowding.cpp
  documentation_test.cpp ${PROJECT_SOURCE_DIR}/tools/nodeaware/documentation.cpp
  ${PROJECT_SOURCE_DIR}/tools/nodeaware/launch.cpp ${PROJECT_SOURCE_DIR}/tools/nodeaware/launchers.cpp ${PROJECT_SOURCE_DIR}/tools/nodeaware/elf.cpp
  ${PROJECT_SOURCE_DIR}/tools/nodeaware/placed_launch.cpp ${PROJECT_SOURCE_DIR}/tools/nodeaware/place/formats.cpp)
target_link_libraries(unit_tests PRIVATE nodeaware_options nodeaware_batches nodeaware_driver nodeaware_layouts nodeaware_strategies nodeaware_tuning Threads::Threads GTest::gtest_main)
target_compile_definitions(unit_tests PRIVATE NODEAWARE_OPTIONS_DOCUMENT="${PROJECT_SOURCE_DIR}/runtime/OPTIONS.md"
  NODEAWARE_TEST_MATRIX="${PROJECT_SOURCE_DIR}/tests/data/can_1072.mtx")
nodeaware_compile_tests_together(unit_tests)
# They have names that others have too.
set_source_files_properties(device_forecast_test.cpp outgoing_cells_ranks_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
nodeaware_optimize_less(unit_tests)
nodeaware_unit_tests(unit_tests unit-any-mpi)

# What the library and its tools write.
add_executable(text_file_tests text_file_test.cpp)
target_link_libraries(text_file_tests PRIVATE nodeaware_text_file GTest::gtest_main)
nodeaware_unit_tests(text_file_tests unit-any-mpi)

# What a calibration keeps and shows while it runs.
if(TARGET nodeaware_calibration_files)
  add_executable(calibration_files_tests calibration_files_test.cpp)
  target_link_libraries(calibration_files_tests PRIVATE nodeaware_calibration_files GTest::gtest_main)
  nodeaware_unit_tests(calibration_files_tests unit-any-mpi)
endif()

# Models and fits; those against recorded measurements are skipped where there are none.
add_executable(tuning_tests
  tuning_models_test.cpp tuning_data_movement_test.cpp tuning_krylov_test.cpp tuning_krylov_links_test.cpp tuning_table_test.cpp
  tuning_scenario_test.cpp tuning_figures_test.cpp tuning_krylov_figures_test.cpp tuning_triangular_test.cpp tuning_fit_test.cpp tuning_advice_test.cpp tuning_measurements_test.cpp tuning_gap_test.cpp learned_choices_test.cpp tuning_costs_test.cpp tuning_copies_test.cpp user_table_test.cpp)
target_link_libraries(tuning_tests PRIVATE nodeaware_models nodeaware_fit nodeaware_tuning nodeaware_strategies GTest::gtest_main)
nodeaware_compile_together(tuning_tests)
target_compile_definitions(tuning_tests PRIVATE
  NODEAWARE_MEASUREMENTS="${PROJECT_SOURCE_DIR}/../shared/measurements")
nodeaware_optimize_less(tuning_tests)
nodeaware_unit_tests(tuning_tests unit-any-mpi)

# Triangular matrices in blocks, and who has them.
add_executable(triangular_tests triangular_test.cpp)
target_link_libraries(triangular_tests PRIVATE bench_triangular GTest::gtest_main)
nodeaware_optimize_less(triangular_tests)
nodeaware_unit_tests(triangular_tests unit-any-mpi)

# Random schedules through the in-process interpreter: one ctest entry a strategy, so that they run side by side.
add_executable(random_schedules random_schedules.cpp random_case.cpp)
target_link_libraries(random_schedules PRIVATE nodeaware_strategies)
target_compile_options(random_schedules PRIVATE -O2)
set(NODEAWARE_RANDOM_SCHEDULES 100000 CACHE STRING "Random schedules per strategy in the tests")
foreach(strategy ${NODEAWARE_STRATEGIES})
  add_test(NAME random_schedules.${strategy}
           COMMAND random_schedules ${strategy} ${NODEAWARE_RANDOM_SCHEDULES})
  set_tests_properties(random_schedules.${strategy} PROPERTIES LABELS unit-any-mpi TIMEOUT 3000)
endforeach()
# Where some of what nodes pass on cannot be sent.
math(EXPR failing "${NODEAWARE_RANDOM_SCHEDULES} / 5")
add_test(NAME random_schedules.failing COMMAND random_schedules radix ${failing} 1 3)
set_tests_properties(random_schedules.failing PROPERTIES LABELS unit-any-mpi TIMEOUT 3000)

# The same for nonblocking operations.
add_executable(random_gathered random_gathered.cpp random_case.cpp)
target_link_libraries(random_gathered PRIVATE nodeaware_layouts)
target_compile_options(random_gathered PRIVATE -O2)
add_test(NAME random_schedules.gathered_nonblocking COMMAND random_gathered ${NODEAWARE_RANDOM_SCHEDULES})
set_tests_properties(random_schedules.gathered_nonblocking PROPERTIES LABELS unit-any-mpi TIMEOUT 3000)

# What of it can be replayed.
if(TARGET nodeaware_replay_patterns)
  add_executable(replay_tests replay_test.cpp)
  target_link_libraries(replay_tests PRIVATE nodeaware_replay_patterns GTest::gtest_main)
  nodeaware_unit_tests(replay_tests unit-any-mpi)
endif()

# Solvers of krylov_bench on one rank.
if(TARGET bench_solvers)
  add_executable(krylov_tests krylov_test.cpp)
  target_link_libraries(krylov_tests PRIVATE bench_solvers GTest::gtest_main)
  nodeaware_unit_tests(krylov_tests unit-any-mpi)
endif()

# What is said of a job before it runs.
if(TARGET nodeaware_doctor)
  add_executable(doctor_tests doctor_test.cpp doctor_output_test.cpp doctor_command_line_test.cpp)
  target_link_libraries(doctor_tests PRIVATE nodeaware_doctor GTest::gtest_main)
  nodeaware_unit_tests(doctor_tests unit-any-mpi)
endif()

# Which ranks should share a node.
if(TARGET nodeaware_place)
  add_executable(place_tests place_test.cpp torus_test.cpp)
  target_link_libraries(place_tests PRIVATE nodeaware_place GTest::gtest_main)
  nodeaware_unit_tests(place_tests unit-any-mpi)
endif()

# What goes into the page of a trace, within bounds.
if(TARGET nodeaware_trace_page)
  add_executable(page_data_tests page_data_test.cpp)
  target_link_libraries(page_data_tests PRIVATE nodeaware_trace_page GTest::gtest_main)
  nodeaware_unit_tests(page_data_tests unit-any-mpi)
endif()

# The kernel as it is kept is the one of its source, where there is the clang that made it; and assemblers take it.
add_test(NAME list_copy_ptx COMMAND ${PROJECT_SOURCE_DIR}/runtime/device/kernels/make_ptx --check)
set_tests_properties(list_copy_ptx PROPERTIES LABELS unit-any-mpi TIMEOUT 3000 SKIP_RETURN_CODE 77)
