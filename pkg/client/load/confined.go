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

// Confined reads manifests of unknown authors, for example of a pull request, within the limits of L10.
type Confined struct{ octets int64 }

// EachManifest calls visit for each manifest of a file or directory, with a function that reads the manifest within the
// limits. The path "-" means stdin. The result is the number of zone files, which are not read.
func (c *Confined) EachManifest(given string, stdin io.Reader, visit func(path string, read func() ([]byte, error)) error) (zoneFiles int,
	err error) {
	if given == "-" {
		return 0, visit(given, func() ([]byte, error) { return c.ReadAll(given, stdin) })
	}
	if err := CheckLinks(given); err != nil {
		return 0, err
	}
	files, err := Source{Path: given}.Files()
	if err == nil && len(files.Manifests) == 0 {
		err = fmt.Errorf("%s: no manifest (.yaml, .yml, .json); plan a zone file by kubectl kubizone plan %s --zone NAMESPACE/NAME",
			given, given)
	}
	if err != nil {
		return 0, err
	}
	for _, path := range files.Manifests {
		if err := visit(path, func() ([]byte, error) { return c.readFile(given, path) }); err != nil {
			return 0, err
		}
	}
	return len(files.Zones), nil
}

func (c *Confined) readFile(given, path string) ([]byte, error) {
	file, err := openBelow(given, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return c.ReadAll(path, file)
}

// ReadAll reads a whole input. All inputs of a Confined share the limit.
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

// CheckLinks rejects a path below the working directory if a link on the path leads out of that directory.
func CheckLinks(path string) error {
	workDir, err := os.Getwd()
	if err != nil {
		return err
	}
	below := path
	if filepath.IsAbs(path) {
		below, err = filepath.Rel(workDir, path)
	}
	if err != nil || !filepath.IsLocal(below) || filepath.Dir(workDir) == workDir {
		return nil
	}
	root, err := os.OpenRoot(workDir)
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
