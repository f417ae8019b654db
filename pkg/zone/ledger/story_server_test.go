// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/store"
)

// actor is a server whose writes can be held, and that can die.
type actor struct {
	*store.Server
	name  string
	gate  stopper
	line  line
	known namespaces
	ctx   context.Context
	end   context.CancelFunc
	stop  func() // stops its works; nil: none run
	lost  int64  // conflicts shown
}

func (w *world) startActor(name, drop string) {
	a := &actor{name: name}
	a.gate.ended = make(chan struct{})
	w.st.T = w.t
	a.Server = w.st.Server(a.known.configureNamespaces, ledger.DropCompares(drop), func(c *ledger.Config) {
		c.Now = func() time.Time { return time.Unix(w.now.Load(), 0).UTC() }
		c.OnFault = a.gate.passPoint
		a.line.KV, c.Client.KV = c.Client.KV, &a.line
	})
	a.ctx, a.end = context.WithCancel(a.Ctx)
	w.servers[name] = a
}

func (a *actor) killServer() {
	a.line.setState("mute for ever")
	a.gate.killAll()
	a.end()
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}

// stopper is the fault function of a server. The function holds arrivals at a point, and ends all arrivals once the
// server is dead.
type stopper struct {
	mu    sync.Mutex
	point string
	stays int // number held
	here  int // held and not yet reported
	open  chan struct{}
	dead  bool
	ended chan struct{} // closed at its death
	left  int           // points until it dies by itself; 0: never
	died  string        // the point of its death
}

func (g *stopper) passPoint(point string) {
	g.mu.Lock()
	if g.left > 0 {
		if g.left--; g.left == 0 {
			g.died = point
			g.endLocked()
		}
	}
	open := g.open
	if point != g.point || g.dead {
		open = nil
	} else {
		g.stays, g.here = g.stays+1, g.here+1
	}
	g.mu.Unlock()
	if open != nil {
		<-open
	}
	if g.isDead() {
		runtime.Goexit()
	}
}

func (g *stopper) holdAt(point string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open != nil {
		close(g.open)
	}
	g.point, g.open, g.stays, g.here = point, make(chan struct{}), 0, 0
}

// hasCome reports whether a write has reached the point since the last call.
func (g *stopper) hasCome() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	came := g.here > 0
	g.here = 0
	return came
}

func (g *stopper) isHolding() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stays > 0
}

func (g *stopper) killAll() {
	g.mu.Lock()
	g.endLocked()
	g.mu.Unlock()
	g.holdAt("")
}

func (g *stopper) endLocked() {
	if !g.dead {
		g.dead = true
		close(g.ended)
	}
}

func (g *stopper) isDead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.dead
}

// line is a server's connection to etcd for writes.
type line struct {
	clientv3.KV
	state atomic.Value
}

func (l *line) setState(state string) { l.state.Store(state) }

func (l *line) Txn(ctx context.Context) clientv3.Txn {
	return &spiedTxn{Txn: l.KV.Txn(ctx), ctx: ctx, send: l.sendByState}
}

func (l *line) sendByState(x *spiedTxn) (*clientv3.TxnResponse, error) {
	if !x.hasWrites() {
		return x.Txn.Commit()
	}
	switch state, _ := l.state.Load().(string); state {
	case "full": // as maintenance.Explain says it
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage,
			Reason: "InsufficientStorage", Message: "nothing was written"}}
	case "mute for ever":
		return nil, rpctypes.ErrTimeout
	case "mute":
		l.setState("ok")
		return nil, rpctypes.ErrTimeout
	case "deaf":
		if r, err := x.Txn.Commit(); err != nil || !r.Succeeded {
			return r, err
		}
		l.setState("ok")
		return nil, rpctypes.ErrTimeout
	}
	return x.Txn.Commit()
}
