package server

import "golang.org/x/sys/windows"

// diskOf returns the size of the volume of a directory, and what this process can still use; 0: unknown.
func diskOf(dir string) (size, free uint64) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil || windows.GetDiskFreeSpaceEx(path, &free, &size, nil) != nil {
		return 0, 0
	}
	return size, free
}
