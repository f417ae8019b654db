// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	mdns "github.com/miekg/dns"
)

const (
	pollEvery = time.Millisecond
	pollMost  = 8
	pollAgain = 100 * time.Millisecond
)

func pollServer(ctx context.Context, server netip.AddrPort, zone string, came *arrivals) error {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(server))
	if err != nil {
		return err
	}
	var reading sync.WaitGroup
	var mu sync.Mutex
	asked := map[string]time.Time{} // hosts with a pending query
	reading.Go(func() {
		packet := make([]byte, 4096)
		for ctx.Err() == nil {
			n, err := conn.Read(packet)
			at := time.Now()
			answer := new(mdns.Msg)
			if err != nil || answer.Unpack(packet[:n]) != nil || len(answer.Question) != 1 {
				continue // the port is not open yet, or closed at the end
			}
			host := answer.Question[0].Name[:len(answer.Question[0].Name)-len(zone)-1]
			mu.Lock()
			delete(asked, host)
			mu.Unlock()
			for _, rr := range answer.Answer {
				if a, ok := rr.(*mdns.A); ok {
					came.noteSeen(host, a.A.String(), at)
				}
			}
		}
	})
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			err := conn.Close()
			reading.Wait()
			return err
		case <-tick.C:
		}
		for _, one := range came.listOldest(pollMost) {
			mu.Lock()
			wait := time.Since(asked[one.host]) < pollAgain
			if !wait {
				asked[one.host] = time.Now()
			}
			mu.Unlock()
			if wait {
				continue
			}
			question := new(mdns.Msg)
			question.SetQuestion(one.host+"."+zone, mdns.TypeA)
			question.RecursionDesired = false
			wire, err := question.Pack()
			if err != nil {
				return err
			}
			_, _ = conn.Write(wire)
		}
	}
}
