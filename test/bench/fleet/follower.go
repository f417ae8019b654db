// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	mdns "github.com/miekg/dns"
)

// follower stands for one named: a secondary of every zone that the primary tells it of.
type follower struct {
	name    string
	at      netip.AddrPort
	primary string
	// key and secret are its TSIG key, which signs what it asks and what it answers.
	key    string
	secret map[string]string
	server *mdns.Server
	asked  *atomic.Int64

	mu    sync.Mutex
	zones map[string]*followed
	// came is told of each serial that the follower has of a zone.
	came func(f *follower, zone string, serial uint32, at time.Time)
}

// followed is a zone of a follower. One transfer at a time is under way; a NOTIFY meanwhile has another one made.
type followed struct {
	soa         *mdns.SOA
	busy, again bool
}

// transferTime bounds each message of a transfer.
const transferTime = 20 * time.Second

func (f *follower) start() error {
	packets, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(f.at))
	if err != nil {
		return fmt.Errorf("%w; addresses of Services have port 53, so this needs root", err)
	}
	f.zones = map[string]*followed{}
	f.server = &mdns.Server{PacketConn: packets, TsigSecret: f.secret, Handler: mdns.HandlerFunc(f.answer), MsgAcceptFunc: func(mdns.Header) mdns.MsgAcceptAction { return mdns.MsgAccept }}
	started := make(chan error, 1)
	f.server.NotifyStartedFunc = func() { started <- nil }
	go func() {
		if err := f.server.ActivateAndServe(); err != nil {
			started <- err
		}
	}()
	return <-started
}

func (f *follower) answer(w mdns.ResponseWriter, question *mdns.Msg) {
	reply := new(mdns.Msg).SetReply(question)
	signed := question.IsTsig()
	switch {
	case signed == nil || w.TsigStatus() != nil || len(question.Question) != 1:
		reply.Rcode, signed = mdns.RcodeRefused, nil
	case question.Opcode == mdns.OpcodeNotify:
		reply.Authoritative = true
		f.follow(question.Question[0].Name)
	case question.Question[0].Qtype == mdns.TypeSOA:
		f.asked.Add(1)
		f.mu.Lock()
		zone := f.zones[mdns.CanonicalName(question.Question[0].Name)]
		if zone != nil && zone.soa != nil {
			reply.Authoritative = true
			reply.Answer = append(reply.Answer, mdns.Copy(zone.soa))
		} else {
			reply.Rcode = mdns.RcodeRefused
		}
		f.mu.Unlock()
	default:
		reply.Rcode = mdns.RcodeRefused
	}
	if signed != nil {
		reply.SetTsig(signed.Hdr.Name, signed.Algorithm, signed.Fudge, time.Now().Unix())
	}
	_ = w.WriteMsg(reply)
}

// follow transfers a zone until no NOTIFY has come meanwhile.
func (f *follower) follow(name string) {
	name = mdns.CanonicalName(name)
	f.mu.Lock()
	zone := f.zones[name]
	if zone == nil {
		zone = &followed{}
		f.zones[name] = zone
	}
	if zone.again = zone.busy; !zone.busy {
		zone.busy = true
		go f.transferUntilQuiet(name, zone)
	}
	f.mu.Unlock()
}

func (f *follower) transferUntilQuiet(name string, zone *followed) {
	for {
		soa, err := f.transfer(name, zone.soa)
		f.mu.Lock()
		if err == nil {
			zone.soa = soa
		}
		ended := !zone.again
		zone.again = false
		if ended {
			zone.busy = false
		}
		f.mu.Unlock()
		if err == nil {
			f.came(f, name, soa.Serial, time.Now())
		}
		if ended {
			return
		}
	}
}

// transfer asks for the zone, or for what changed in it, and returns its SOA when all of it has come.
func (f *follower) transfer(name string, have *mdns.SOA) (*mdns.SOA, error) {
	question := new(mdns.Msg)
	if have == nil {
		question.SetAxfr(name)
	} else {
		question.SetIxfr(name, have.Serial, ".", ".")
	}
	question.SetTsig(f.key, mdns.HmacSHA256, 300, time.Now().Unix())
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.at.Addr(), 0)), Timeout: transferTime}
	conn, err := dialer.Dial("tcp", f.primary)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	messages, err := (&mdns.Transfer{Conn: &mdns.Conn{Conn: conn, TsigSecret: f.secret}, ReadTimeout: transferTime, WriteTimeout: transferTime, TsigSecret: f.secret}).In(question, f.primary)
	if err != nil {
		return nil, err
	}
	var soa *mdns.SOA
	for message := range messages {
		if message.Error != nil {
			err = errors.Join(err, message.Error)
		}
		for _, rr := range message.RR {
			if one, ok := rr.(*mdns.SOA); ok && soa == nil {
				soa = one
			}
		}
	}
	if err == nil && soa == nil {
		err = errors.New("a transfer without a SOA")
	}
	return soa, err
}

func (f *follower) stop() { _ = f.server.Shutdown() }
