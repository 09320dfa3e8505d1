package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file is a file or directory in an archive.
type file struct {
	name    string // ends in a slash for a directory
	mode    fs.FileMode
	owner   int // user and group
	content []byte
}

// archive writes the binary with licence and README, for Linux also with deploy: a zip file for Windows, else a
// compressed tar file.
func (t *target) archive() error {
	folder := filepath.Base(t.base())
	var files []file
	for _, f := range []struct {
		from string
		mode fs.FileMode
	}{
		{t.binary, 0o755}, {"LICENSE", 0o644}, {"README.md", 0o644},
	} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		files = append(files, file{name: path.Join(folder, filepath.Base(f.from)), mode: f.mode, content: content})
	}
	if t.os == "linux" {
		more, err := deployment(folder)
		if err != nil {
			return err
		}
		files = append(files, more...)
	}
	var out bytes.Buffer
	name, err := t.base()+".tar.gz", error(nil)
	if t.os == "windows" {
		name, err = t.base()+".zip", writeZip(&out, files, t.at)
	} else {
		compressed, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // an error means an unknown level
		err = errors.Join(writeTar(compressed, files, t.at), compressed.Close())
	}
	if err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o666)
}

// deployment returns the files of deploy, such as the unit and the chart. deploy/chart/grafana, with alert rules and
// dashboards, is a link.
func deployment(folder string) (files []file, err error) {
	for from, to := range map[string]string{"deploy": "deploy", "docs/grafana": "deploy/chart/grafana"} {
		err = errors.Join(err, filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(name)
			below := strings.TrimPrefix(filepath.ToSlash(name), from)
			files = append(files, file{name: path.Join(folder, to, below), mode: 0o644, content: content})
			return err
		}))
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, err
}

func writeTar(to io.Writer, files []file, at time.Time) error {
	w := tar.NewWriter(to)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Uid: f.owner, Gid: f.owner, ModTime: at,
			Size: int64(len(f.content)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.mode.IsDir() {
			h.Typeflag = tar.TypeDir
		}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}

func writeZip(to io.Writer, files []file, at time.Time) error {
	w := zip.NewWriter(to)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		entry, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}
