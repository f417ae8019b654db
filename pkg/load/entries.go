// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// OpenEntries returns the content of a zone as a master file with absolute names. The caller closes the reader.
func OpenEntries(ctx context.Context, client versioned.Interface, zone types.NamespacedName) (io.ReadCloser, error) {
	text, err := client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).
		SubResource("entries").Param("format", v1alpha1.FormatText).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s: %w", zone, err)
	}
	return text, nil
}
