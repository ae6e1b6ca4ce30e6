/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/** WhatifLocks THREADS NAP_US HOLD_US HOLD2_US SECONDS: two monitors in turn; prints the cycles a second. */
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

public final class WhatifLocks {
    static final Object STOCK = new Object();
    static final Object LEDGER = new Object();
    static final AtomicLong CYCLES = new AtomicLong();

    static void compute(long us) {
        long end = System.nanoTime() + us * ThreadLocalRandom.current().nextInt(500, 1501);
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    static void work(int nap, int hold, int hold2) {
        for (;;) {
            try {
                Thread.sleep(nap / 1000, nap % 1000 * 1000);
            } catch (InterruptedException e) {
                return;
            }
            synchronized (STOCK) {
                compute(hold);
            }
            synchronized (LEDGER) {
                compute(hold2);
            }
            CYCLES.incrementAndGet();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int nap = Integer.parseInt(args[1]);
        int hold = Integer.parseInt(args[2]);
        int hold2 = Integer.parseInt(args[3]);
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Thread thread = new Thread(() -> work(nap, hold, hold2), "worker-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        Thread.sleep(300);
        long before = CYCLES.get();
        long start = System.nanoTime();
        Thread.sleep(1000L * Integer.parseInt(args[4]));
        System.out.println((CYCLES.get() - before) * 1e9 / (System.nanoTime() - start));
    }
}
