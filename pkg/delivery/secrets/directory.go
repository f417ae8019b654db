// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Directory is the path of a directory with files NAMESPACE/NAME/KEY. If empty, there are no Secrets.
type Directory string

var _ Reader = Directory("")

// Get returns the contents of a Secret's files by key, without hidden files.
func (s Directory) Get(_ context.Context, namespace, name string) (map[string][]byte, error) {
	if s == "" {
		return nil, &MissingError{Next: "name a directory of Secrets by --secrets-dir"}
	}

	// A name in a class must not lead out of the directory.
	path := filepath.Join(namespace, name)
	missing := &MissingError{Next: "write each of its keys to a file " + filepath.Join(string(s), path, "KEY")}
	root, err := os.OpenRoot(string(s))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()

	files, err := fs.ReadDir(root.FS(), filepath.ToSlash(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}

	data := map[string][]byte{}
	for _, file := range files {
		// A mounted Secret has the link ..data beside its keys.
		if file.IsDir() || file.Name()[0] == '.' {
			continue
		}
		if data[file.Name()], err = root.ReadFile(filepath.Join(path, file.Name())); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Create writes the files of a new Secret, readable only by their owner.
func (s Directory) Create(namespace, name string, data map[string]string) error {
	if err := os.Mkdir(string(s), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(string(s))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(namespace, 0o700); err != nil {
		return err
	}
	at := filepath.Join(namespace, name)
	if err := root.Mkdir(at, 0o700); err != nil {
		return err
	}
	for key, text := range data {
		if err := root.WriteFile(filepath.Join(at, key), []byte(text), 0o600); err != nil {
			// Half a Secret would look like a Secret without some keys.
			return errors.Join(err, root.RemoveAll(at))
		}
	}
	return nil
}

func (s Directory) Delete(namespace, name string) error {
	root, err := os.OpenRoot(string(s))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.RemoveAll(filepath.Join(namespace, name))
}
