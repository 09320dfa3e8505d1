package main

import (
	"errors"
	"os"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
)

// deb writes the Debian package that deploy/deb/nfpm.yaml describes.
func (t *target) deb() (err error) {
	variables := map[string]string{"VERSION": t.version, "ARCH": t.arch, "BINARY": t.binary}
	config, err := nfpm.ParseFileWithEnvMapping("deploy/deb/nfpm.yaml",
		func(name string) string { return variables[name] })
	if err != nil {
		return err
	}
	info, err := config.Get("deb")
	if err != nil {
		return err
	}
	info.MTime = t.at
	if err := nfpm.PrepareForPackager(nfpm.WithDefaults(info), "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	out, err := os.Create(t.base() + ".deb")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	return packager.Package(info, out)
}
