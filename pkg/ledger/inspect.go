// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// What follows opens the stored form to fsck, which recomputes it by ways of its
// own: it needs to know where keys stand and what objects say, not how they are
// kept true.

// ReleasesRefused is the format from which on records that an earlier version took in and that are refused now have left
// their zones, or an outbox item lets them go.
const ReleasesRefused = releasesRefused

// Decode reads an object as it stands in etcd under key.
func (c ObjectCodec) Decode(ctx context.Context, key string, data []byte, revision int64, into runtime.Object) error {
	return c.decode(ctx, key, data, revision, into)
}

// LawRecord is the record an object asks for. Error: its spec does not parse.
func LawRecord(o *v1alpha1.Record) (*law.Record, error) { return lawRecord(o) }
