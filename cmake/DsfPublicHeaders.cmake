# The headers that are installed; docs/library.md describes the first list. tests/layering fails
# where one of them includes a header of dsf's that is in neither list, or one of another library;
# tests/install compiles each of them alone against an installed copy.

# What a program includes. These are kept stable.
set(DSF_PUBLIC_HEADERS
  dsf/base/buffer.h
  dsf/base/dim.h
  dsf/base/error.h
  dsf/base/error_text.h
  dsf/base/message_handler.h
  dsf/base/packed_layout.h
  dsf/base/rng.h
  dsf/base/token_batch.h
  dsf/base/version.h
  dsf/base/view.h
  dsf/cells/backward_pass.h
  dsf/data/batcher.h
  dsf/data/data_config.h
  dsf/data/dataset.h
  dsf/data/text_stream.h
  dsf/data/tokenizer.h
  dsf/feedback/feedback.h
  dsf/feedback/feedback_config.h
  dsf/feedback/feedback_registry.h
  dsf/kernels/parallel.h
  dsf/layers/initial_weights.h
  dsf/layers/linear.h
  dsf/layers/parameter.h
  dsf/layers/recurrent.h
  dsf/model/language_model.h
  dsf/model/model_config.h
  dsf/optim/adam.h
  dsf/optim/clip.h
  dsf/run/config_file.h
  dsf/run/config_json.h
  dsf/run/config_keyword.h
  dsf/run/report_json.h
  dsf/run/run_config.h
  dsf/run/run_record.h
  dsf/run/run_report.h
  dsf/train/progress.h
  dsf/train/train_observer.h
  dsf/train/training_run.h
  dsf/train/training_step.h
  dsf/use/evaluation.h
  dsf/use/generation.h
  dsf/use/interchange.h
  dsf/use/model_evaluation.h
  dsf/use/onnx_export.h
  dsf/use/sampling.h
  dsf/use/stored_model.h)

# What those include. A program has no need to name these, and they change without notice.
set(DSF_SUPPORTING_HEADERS
  dsf/base/bf16.h
  dsf/base/choice.h
  dsf/base/large_pages.h
  dsf/base/named_buffer.h
  dsf/base/shared_array.h
  dsf/base/timer.h
  dsf/cells/cell.h
  dsf/cells/cell_kind.h
  dsf/kernels/factored_weights.h
  dsf/kernels/gemm.h
  dsf/kernels/low_rank.h
  dsf/kernels/packed_weights.h
  dsf/layers/mixer.h
  dsf/optim/schedule.h
  dsf/run/config_fields.h)
