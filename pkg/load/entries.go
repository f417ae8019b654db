// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"io"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
)

// OpenEntries is what a zone contains, as a master file with absolute names. query narrows it, as the query
// parameters of zones/entries do. The caller closes it.
func OpenEntries(ctx context.Context, client versioned.Interface, zone types.NamespacedName, query map[string]string) (io.ReadCloser, error) {
	request := client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource("entries").
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

// readEntries are those of a zone, row by row.
func (l *Loader) readEntries(ctx context.Context, zone types.NamespacedName, query map[string]string) iter.Seq2[zonefile.RR, error] {
	return func(yield func(zonefile.RR, error) bool) {
		var text io.ReadCloser
		err := retryTransient(ctx, func() (err error) {
			text, err = OpenEntries(ctx, l.typed, zone, query)
			return err
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
