"""All-reduces over all ranks of a torchrun job, with numbers checked. Imports nothing of rocm_doctor."""
