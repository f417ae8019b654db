// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
)

type Reader interface {
	// Get returns the data of a Secret. The error wraps ErrNotFound if there is none.
	Get(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// GetFunc is the method Get of a Reader with a given context.
type GetFunc func(namespace, name string) (map[string][]byte, error)

var ErrNotFound = errors.New("there is no such Secret")

type MissingError struct{ Next string }

func (e *MissingError) Error() string { return ErrNotFound.Error() + "; " + e.Next }

func (e *MissingError) Unwrap() error { return ErrNotFound }
