docker run --device=/dev/kfd --device=/dev/dri -e HSA_OVERRIDE_GFX_VERSION=9.0.0 rocm/pytorch:latest python train.py
