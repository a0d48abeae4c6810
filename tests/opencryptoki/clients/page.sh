# Runs the commands of a page, the file $1, in the folder $2. What a machine has been given already, or what belongs to a service
# manager, is done here by what stands for it: the packages are there, and root is who runs this.
set -eu
page=$1
cd "$2"
sudo() { "$@"; }
apt-get() { [ "$1" = install ]; }
usermod() { [ "$3" = pkcs11 ]; }
systemctl() { [ "$1" = restart ] && pkcsslotd; }
USER=$(id -un)
. "$page"
