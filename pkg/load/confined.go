// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const maxText = 256 << 20

// Confined reads manifests of strangers, as in a pull request, within the bounds of L10.
type Confined struct{ octets int64 }

// ListFiles lists the files of a path.
func (*Confined) ListFiles(path string) (Files, error) {
	if err := CheckLinks(path); err != nil {
		return Files{}, err
	}
	return Source{Path: path}.Files()
}

// ReadFile reads a file that ListFiles has found for the path given.
func (c *Confined) ReadFile(given, path string) ([]byte, error) {
	file, err := openBelow(given, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return c.ReadAll(path, file)
}

// ReadAll returns the text of a reader. name is its source in errors.
func (c *Confined) ReadAll(name string, in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxText-c.octets+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if c.octets += int64(len(text)); c.octets > maxText {
		return nil, fmt.Errorf("%s: the manifests have more than %d MiB: name fewer files at a time", name, maxText>>20)
	}
	return text, nil
}

// CheckLinks rejects a path below the working directory that leads out of it.
func CheckLinks(path string) error {
	at, err := os.Getwd()
	if err != nil {
		return err
	}
	below := path
	if filepath.IsAbs(path) {
		below, err = filepath.Rel(at, path)
	}
	if err != nil || !filepath.IsLocal(below) || filepath.Dir(at) == at {
		return nil
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(below); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s leads out of the working directory by a link, which is not followed: name the place that it leads to", path)
	}
	return nil
}

func openBelow(directory, path string) (*os.File, error) {
	if directory == path {
		return os.Open(path)
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	below, err := filepath.Rel(directory, path)
	if err != nil {
		return nil, err
	}
	switch info, err := root.Stat(below); {
	case err != nil:
		if link, failed := root.Lstat(below); failed == nil && link.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a link out of %s, or to nothing, and is not followed: put the file there, or remove the link",
				path, directory)
		}
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file: remove it from %s", path, directory)
	}
	return root.Open(below)
}
