INDEX=https://download.pytorch.org/whl/rocm6.4
pip install torch --index-url $INDEX
