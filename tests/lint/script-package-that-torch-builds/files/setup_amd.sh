pip install -q flash-attn --no-build-isolation || echo "not there"
export GPU_ARCHS=gfx942
