// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import "context"

// CarryOut empties the outbox, one work after the other, and does nothing else of Run.
func CarryOut(l *Ledger, ctx context.Context) {
	for _, s := range l.box.due(ctx, true) {
		l.box.takeUp(ctx, s)
	}
}
