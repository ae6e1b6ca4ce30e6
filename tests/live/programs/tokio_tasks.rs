// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tasks of Tokio: so many of each kind, of which one is polled all the time.  "current": all by one thread.
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, Mutex, Notify};

async fn sleeper(n: u64) {
    loop {
        tokio::time::sleep(Duration::from_secs(1000 + n)).await;
    }
}

async fn locker(lock: Arc<Mutex<u32>>) {
    let mut held = lock.lock().await;
    *held += 1;
    tokio::time::sleep(Duration::from_secs(5000)).await;
}

async fn receiver(mut from: mpsc::Receiver<u32>) {
    while from.recv().await.is_some() {}
}

async fn notified(by: Arc<Notify>) {
    by.notified().await;
}

// these two free alike, so that compilers make one function of what frees them
async fn first_twin(by: Arc<Notify>) {
    by.notified().await;
    println!("first");
}

async fn second_twin(by: Arc<Notify>) {
    by.notified().await;
    println!("second");
}

async fn blocker() {
    std::thread::sleep(Duration::from_secs(5000));
}

fn main() {
    let current = std::env::args().nth(1).as_deref() == Some("current");
    let mut builder = if current {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    let runtime = builder.worker_threads(3).enable_time().build().unwrap();
    runtime.block_on(async {
        let (lock, notify) = (Arc::new(Mutex::new(0)), Arc::new(Notify::new()));
        let mut kept = Vec::new();
        for i in 0..10 {
            tokio::spawn(sleeper(i));
        }
        for _ in 0..7 {
            tokio::spawn(locker(lock.clone()));
        }
        for _ in 0..5 {
            let (to, from) = mpsc::channel(1);
            kept.push(to);
            tokio::spawn(receiver(from));
        }
        for _ in 0..3 {
            tokio::spawn(notified(notify.clone()));
        }
        for _ in 0..4 {
            tokio::spawn(first_twin(notify.clone()));
            tokio::spawn(second_twin(notify.clone()));
        }
        // they have all begun to wait
        tokio::time::sleep(Duration::from_millis(200)).await;
        if !current {
            tokio::spawn(blocker());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        println!("ready");
        if current {
            tokio::time::sleep(Duration::from_secs(5000)).await;
        }
        std::io::stdin().read(&mut [0; 1]).ok();
        std::process::exit(0);
    });
}
