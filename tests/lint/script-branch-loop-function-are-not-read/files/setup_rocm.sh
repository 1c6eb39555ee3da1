if [ -n "$X" ]; then
  pip install torch
fi
for p in torch peft; do pip install $p; done
install() {
  pip install torch
}
true || pip install torch
