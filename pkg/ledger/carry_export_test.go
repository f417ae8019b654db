// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import "context"

// CarryOut empties the outbox, and does nothing else of Run.
func CarryOut(l *Ledger, ctx context.Context) { l.sweepOutbox(ctx, true) }
