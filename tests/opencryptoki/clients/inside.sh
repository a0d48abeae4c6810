# Runs in namespaces of its own, as their root: puts the packages of openCryptoki, unpacked in the folder $1, over /usr, gives
# them the rest of what they insist on, and becomes the command that follows $2: `started`, with slots and their daemon, or
# `installed`, as the package leaves a machine, with a folder for the file of slots.
set -eu
packages=$1 state=$2
shift 2
mount -t overlay overlay -o "lowerdir=$packages/usr:/usr" /usr
for folder in /var /run /dev/shm; do
    mount -t tmpfs tmpfs "$folder"
done
mkdir -p /run/etc/opencryptoki /run/slots /var/lock/opencryptoki /var/log/opencryptoki /var/run
printf 'root:x:0:\npkcs11:x:0:\n' >/run/etc/group
for token in swtok ccatok; do
    mkdir -p "/var/lib/opencryptoki/$token/TOK_OBJ" "/var/lock/opencryptoki/$token"
done
mount -t overlay overlay -o lowerdir=/run/etc:/etc /etc
mount --bind /run/slots /etc/opencryptoki
[ "$state" = installed ] && exec "$@"
# The token of CCA lacks a function in this release; the token in software, loaded before it, has it.
cat >/etc/opencryptoki/opencryptoki.conf <<'END'
version opencryptoki-3.1
slot 0
{
stdll = libpkcs11_sw.so
}
slot 1
{
stdll = libpkcs11_cca.so
}
END
pkcsslotd
exec "$@"
