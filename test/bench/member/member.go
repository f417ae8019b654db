// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"os"

	"kubi.zone/kubizone/pkg/kit/memory"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
)

// Serve runs a member on dir until ctx ends.
func Serve(ctx context.Context, dir string, ready func(endpoint string) error) error {
	memory.SpareHeap() // as with an embedded member
	opened, err := embed.OpenDir(dir, 0)
	if err != nil {
		return err
	}
	defer opened.Close()
	member, err := embed.Start(ctx, embed.Config{Dir: opened, Log: func(line string) { fmt.Fprintln(os.Stderr, "etcd:", line) }})
	if err != nil {
		return err
	}
	defer member.Stop()
	if err := ready(member.Endpoints()[0]); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-member.Failed():
		return member.Err()
	}
}
