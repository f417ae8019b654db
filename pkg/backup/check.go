// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/ledger/fsck"
)

// Check recomputes what the ledger keeps, from the objects stored there. It writes nothing and may run beside a server.
func Check(ctx context.Context, source apiserver.Source) (fsck.Report, error) {
	client, codecOf, err := source.Open(ctx)
	if err != nil {
		return fsck.Report{}, err
	}
	defer client.Close()
	return fsck.Run(ctx, fsck.Config{
		Client: client.Client, Prefix: apiserver.Prefix, Zones: codecOf("zones"), Records: codecOf("records"),
		Delegations: codecOf("delegations"), Further: codecOf,
	})
}
