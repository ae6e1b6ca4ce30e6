// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// unwind_rust OUT COUNT US: sleeps in a method called through a trait object, and in a closure of a thread.
use std::io::{Read, Write};
use std::time::Duration;

trait Shape {
    fn draw(&self, count: u64);
}

struct Circle {
    nap: Duration,
}

#[inline(never)]
fn nap_site(nap: Duration) {
    std::thread::sleep(nap);
    std::hint::black_box(());
}

impl Shape for Circle {
    #[inline(never)]
    fn draw(&self, count: u64) {
        for _ in 0..count {
            nap_site(self.nap);
        }
        std::hint::black_box(());
    }
}

#[inline(never)]
fn outer(shape: &dyn Shape, count: u64) {
    shape.draw(count);
    std::hint::black_box(());
}

fn say(path: &str, line: String) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(line.as_bytes()).unwrap();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: u64 = arguments[2].parse().unwrap();
    let nap = Duration::from_micros(arguments[3].parse().unwrap());
    let pid = std::process::id();
    let mut byte = [0u8; 1];

    println!("ready {}", pid);
    std::io::stdin().read(&mut byte).unwrap();
    let shape: Box<dyn Shape> = Box::new(Circle { nap });
    outer(std::hint::black_box(&*shape), count);
    say(&arguments[1], format!(
        "{{\"kind\":\"unwind\",\"pid\":{0},\"tid\":{0},\"state\":\"S\",\"slept\":{1},\"chain\":[\"unwind_rust::outer\",\
         \"<unwind_rust::Circle as unwind_rust::Shape>::draw\",\"unwind_rust::nap_site\"]}}\n", pid, count));
    println!("done");
    while std::io::stdin().read(&mut byte).unwrap() > 0 {}
}
