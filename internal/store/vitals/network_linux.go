package vitals

import (
	"fmt"
	"syscall"
)

// networks are the numbers by which Linux names the file systems of other machines, see statfs(2).
var networks = map[int64]string{
	0x6969: "nfs", 0xFF534D42: "cifs", 0xFE534D42: "smb", 0x517B: "smb", 0x5346414F: "afs", 0x00C36400: "ceph", 0x01021997: "9p",
	0x47504653: "gpfs", 0x0BD00BD0: "lustre", 0x013661E0: "glusterfs", 0x73757245: "coda", 0x564C: "ncp",
}

// networkOf returns the file system of a file if it is on another machine.
func networkOf(path string) (string, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return "", fmt.Errorf("read the file system of %s: %w", path, err)
	}
	return networks[int64(s.Type)&0xFFFFFFFF], nil //nolint:unconvert // it has another type on other processors
}
