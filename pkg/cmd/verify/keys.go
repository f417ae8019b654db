// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/transfer"
)

// keyOf is the key by which a class knows one of its servers, where the user may read it. A tenant may not; then the
// key of --tsig-key-file signs, if there is one. The data of a Secret go nowhere else.
func (r *run) keyOf(ctx context.Context, name string, ref *v1alpha1.SecretReference) *transfer.Key {
	if ref == nil {
		return nil
	}
	if known, ok := r.keys[*ref]; ok {
		return known
	}
	key, err := transferclass.Key(*ref, func(namespace, name string) (map[string][]byte, error) {
		return r.secrets.Get(ctx, namespace, name)
	})
	if err != nil {
		next := "asked without it; --secrets-dir or --tsig-key-file may have it"
		if r.key != nil {
			next = "the key of --tsig-key-file signs"
		}
		if errors.Is(err, class.ErrSecretNotFound) {
			err = class.ErrSecretNotFound
		}
		fmt.Fprintf(r.remarks, "the key of class %s, Secret %s/%s: %v; %s\n", name, ref.Namespace, ref.Name, err, next)
		r.keys[*ref] = r.key
		return r.key
	}
	r.keys[*ref] = &transfer.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC}
	return r.keys[*ref]
}

// addServer adds a server once for each key: one address may have views that are told apart by the key.
func (r *run) addServer(one asked) {
	for i, other := range r.servers {
		if other.address != one.address {
			continue
		}
		if sameKey(other.key, one.key) || other.class == "" {
			r.servers[i].guest, r.servers[i].signed = other.guest || one.guest, other.signed || one.signed
			if other.class == "" && one.key != nil {
				r.servers[i].key, r.servers[i].class = one.key, one.class
			}
			return
		}
		one.label = fmt.Sprintf("%s (class %s)", one.address, one.class)
	}
	r.servers = append(r.servers, one)
}

func sameKey(a, b *transfer.Key) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name && string(a.MAC([]byte(a.Name))) == string(b.MAC([]byte(a.Name)))
}

// asked is a server and how it is asked.
type asked struct {
	// address is HOST:PORT; label is what its line says, where one address has several.
	address, label string
	// class knows it; empty for one that a flag names.
	class string
	key   *transfer.Key
	// guest: its SOA is its own; signed: its serial is, and what signing makes.
	guest, signed bool
}
