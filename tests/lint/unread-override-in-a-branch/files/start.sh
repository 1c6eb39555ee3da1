if [ "$GPU" = rocm ]; then
  export HSA_OVERRIDE_GFX_VERSION=${HSA_OVERRIDE_GFX_VERSION:-11.5.1}
fi
python train.py
