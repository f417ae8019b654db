// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"fmt"
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

// DescribeMissing returns the sentence of a status about a Secret for which Get returned err, with the next step:
// "there is no Secret dns/hook; make it in namespace dns".
func DescribeMissing(err error, namespace, name string) string {
	next := "make it in namespace " + namespace
	var missing *MissingError
	if errors.As(err, &missing) {
		next = missing.Next
	}
	return fmt.Sprintf("there is no Secret %s/%s; %s", namespace, name, next)
}
