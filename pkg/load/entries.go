// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"io"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

// OpenEntries returns the content of a zone as a master file with absolute names. query has query parameters of
// zones/entries. The caller closes the reader.
func OpenEntries(ctx context.Context, client versioned.Interface, zone types.NamespacedName, query map[string]string) (io.ReadCloser,
	error) {
	request := client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource(
		"entries").
		Param("format", v1alpha1.FormatText)
	for key, value := range query {
		request.Param(key, value)
	}
	text, err := request.Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s: %w", zone, err)
	}
	return text, nil
}

// readEntries yields the entries of a zone.
func (l *Loader) readEntries(ctx context.Context, zone types.NamespacedName, query map[string]string) iter.Seq2[zonefile.RR, error] {
	return func(yield func(zonefile.RR, error) bool) {
		text, err := retryTransient(ctx, func() (io.ReadCloser, error) {
			return OpenEntries(ctx, l.typed, zone, query)
		})
		if err != nil {
			yield(zonefile.RR{}, err)
			return
		}
		defer text.Close()
		for row, err := range zonefile.Read(text, zonefile.ReadOptions{}) {
			if !yield(row, err) {
				return
			}
		}
	}
}
