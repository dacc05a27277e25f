#!/bin/sh
# Unpacks a rustc that knows wasm32-unknown-unknown and wasm32-wasip2 into the folder $1, from Debian packages,
# for machines where rustup cannot add targets. The system is not touched: nothing is installed, and the
# unpacked compiler brings its own libc. Prints nothing on success; a reason on standard error otherwise.
set -eu
home=$1
suite=${HOOKPROOF_WASM_RUST_SUITE:-forky}
fail() { echo "$*" >&2; exit 1; }

command -v apt-get >/dev/null || fail "This is not a Debian system. Run: rustup target add wasm32-unknown-unknown wasm32-wasip2"
arch=$(dpkg --print-architecture)
host=$(rustc -vV | sed -n 's/^host: //p')
multiarch=${host%%-*}-linux-gnu
# Debian's own rustc has no linker of its own for wasm; the installed toolchain has one.
linkers=$(rustc --print sysroot)/lib/rustlib/$host/bin
[ -x "$linkers/rust-lld" ] || fail "rust-lld is not in $linkers, so WebAssembly cannot be linked; install Rust with rustup."
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep -m1 '/debian/*$') \
  || fail "apt knows no Debian archive; add one to its sources, or run: rustup target add wasm32-unknown-unknown wasm32-wasip2"

work=$home.new
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/root" "$work/bin"
: >"$work/apt/status"
echo "deb [arch=$arch signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/apt/sources.list"
private_apt() {
  apt-get -qq \
    -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
    -o Dir::State="$work/apt" -o Dir::State::lists="$work/apt/lists" -o Dir::State::status="$work/apt/status" \
    -o Dir::Cache="$work/apt/cache" -o Debug::NoLocking=true -o Acquire::Languages=none \
    -o APT::Install-Recommends=false -o APT::Sandbox::User="$(id -un)" "$@" >&2
}
private_apt update
private_apt install --download-only -y rustc libstd-rust-dev-wasm32
for package in "$work"/apt/cache/archives/*.deb; do
  case ${package##*/} in
    rustc_* | libstd-rust-* | libllvm* | libc6_* | libgcc-s1_* | libstdc++6_* | libz3-* | zlib1g_* | libzstd1_* | \
      libxml2-* | libffi8_* | libedit2_* | libtinfo6_* | libbsd0_* | libmd0_* | liblzma5_*)
      dpkg -x "$package" "$work/root" ;;
  esac
done
mkdir -p "$work/root/usr/lib/rustlib/$host"
ln -sfn "$linkers" "$work/root/usr/lib/rustlib/$host/bin"
cat >"$work/bin/rustc" <<EOF
#!/bin/sh
r=$home/root/usr
exec \$r/lib/$multiarch/ld-linux-*.so.* --library-path \$r/lib/$multiarch:\$r/lib \$r/bin/rustc --sysroot \$r "\$@"
EOF
chmod +x "$work/bin/rustc"
rm -rf "$work/apt" "$home"
mv "$work" "$home"
