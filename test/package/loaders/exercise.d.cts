export declare function exercise(sockets: object, codec: object, capture: object): Promise<string>
