pip install -r requirements-rocm.txt
